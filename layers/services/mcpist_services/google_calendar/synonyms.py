"""Google Calendar's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
on my calendar, my schedule, my day, my agenda, this afternoon, what meetings: list events
to 0pm, to 0am, to 0:0, to another day, to next week: update event
can't make it, cannot make it, can't attend, tell them no, tell them yes, i'll be there: answer invitation
予定を見, 予定を教え, 予定は, の予定を, 予定一覧, 予定を確認: list events
0時に変更, 時間を変更, 時間を変え: update event
何曜日, 今日の日付, 何日: current time
who accepted the invite, who accepted, who declined: get event attendees
who is coming, who responded, who has replied, guest list: get event attendees
already on my calendar, to the existing: update event
push back, move back, delay: update event
by an hour, an hour later, half an hour: update event
meeting, meetings, sync, standup, appointment, appointments, calendar entry, agenda, 1:1, one-on-one, call with: event
invite, guest, guests, attendee: attendees event
free time, free slot, free slots, availability, available, busy, when is everyone free, a time when: free busy
find a time, find a slot, suggest a time, suggest times, when can we meet, when can we all meet: propose times
accept, decline, rsvp, reply to the invitation, i will attend, i cannot come: answer invitation
vacation, holiday, absence, ooo, day off: out office
work from home, remote, wfh, hybrid: working location
what time, time is it, today's date, current date: current time
weekly, daily, monthly, every wednesday: event recurrence
recurring, repeats, every week, series, occurrence, occurrences: instances recurrence
colour, colours, colors: color

予定, 会議, 打ち合わせ, ミーティング, イベント: event
カレンダー: calendar
招待, 参加者, ゲスト: attendees event
空き時間, 空いて, 空き, 都合: free busy
日程調整, 候補日, 候補: propose times
承諾, 辞退, 欠席: answer invitation
誰が参加, 誰が出席, 参加と返事, 参加状況, 出席者: get event attendees
不在, 休暇, 休み, 有給: out office
在宅, テレワーク, リモート, 出社: working location
現在時刻, 何時, 今の時刻, 現在の日時: current time
繰り返し, 毎週, 定例, 各回: instances recurrence
色: color
グーグル: google
"""
