"""Google Calendar's words: what people say, in English and Japanese, and the catalogue's words for it."""

SYNONYMS = """
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
color, colour, colours: colors

予定, 会議, 打ち合わせ, ミーティング, イベント: event
カレンダー: calendar
招待, 参加者, ゲスト: attendees event
空き時間, 空いて, 空き, 都合: free busy
日程調整, 候補日, 候補: propose times
承諾, 辞退, 欠席: answer invitation
不在, 休暇, 休み, 有給: out office
在宅, テレワーク, リモート, 出社: working location
現在時刻, 何時, 今の時刻, 現在の日時: current time
繰り返し, 毎週, 定例, 各回: instances recurrence
色: colors
グーグル: google
"""
