"""Microsoft To Do's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
shopping list, to my list, on my list, buy, 買う, 買って, タスクを追加, タスクを作: create task
what's due, due today, 今日締め切り, 今日まで, 今日のタスク: list tasks due
my lists, which lists, all lists: list lists
to-do list called, new to-do list, new list, list called: create list
notes of the to do task, in the notes of, notes of the task, notes of my task, in the notes, what did i write: get task
リストを作, リストを新: create list
step, steps, sub-items: checklist item
microsoft to do, ms to do, microsoft to-do, マイクロソフト to do: microsoft todo
to do, to-do, to-dos, todos, todo, reminder, remind me, errand, chore: task todo
to do list, to-do list, shopping list, list of tasks: list lists
overdue: list tasks due
deadline, due date, due: due task
checkbox, checkboxes: checklist item

やること, 用事, 買い物, リマインド, リマインダー: task todo
チェックリスト, 手順, サブタスク, 小項目: checklist item
期限, 締め切り, 締切: due task
マイクロソフト: microsoft
"""
