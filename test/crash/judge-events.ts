/** The oracle of a storm's events: the log is what Git says, and each follower saw the log. Nothing is in flight. */

import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type LoggedEvent, readLog } from '../events/log-rows.ts'
import { differencesFromGit } from '../events/replay.ts'
import type { SeenEvents } from './event-reader.ts'
import type { Followers } from './followers.ts'
import type { SeenMessage } from './hook-receiver.ts'
import { problem } from './problems.ts'
import { readSeen } from './seen-lines.ts'
import type { World } from './world.ts'

/** Milliseconds until everything must be recorded, and then until it must be read and delivered. */
const patienceMs = 60_000

/** Lets the followers come to the end of the log, and judges what they saw. Returns the log. */
export async function judgeEvents(world: World, followers: Followers): Promise<LoggedEvent[]> {
  const begun = performance.now()
  const lateSince = (start: number) => () => performance.now() > start + patienceMs
  let isLate = lateSince(begun)
  await followers.heal()
  let events = readLog(world, world.org)
  let differences = differencesFromGit(world, world.org, events)
  // What a killed process has not recorded is recorded by the sweep of the next.
  for (; differences.length > 0 && !isLate(); differences = differencesFromGit(world, world.org, events)) {
    await sleep(1_000)
    events = readLog(world, world.org)
  }
  for (const what of differences) problem(world, `the log of events: ${what}`)
  isLate = lateSince(performance.now())
  while (!hasEverything(followers, events) && !isLate()) {
    await sendAgain(followers)
    await sleep(500)
  }
  judgeShown(world, followers)
  const seen = { pages: judgePages(world, followers, events), stream: judgeStream(world, followers, events) }
  const received = judgeMessages(world, followers, events)
  for (const what of followers.problems()) problem(world, what)
  const { readers, receiver } = followers.kills
  const seconds = ((performance.now() - begun) / 1_000).toFixed(0)
  console.log(
    `${events.length} events, judged in ${seconds} s: ${seen.pages} seen in pages, ${seen.stream} in the stream, ${received} received; ${readers} kills of readers, ${receiver} of the receiver`,
  )
  return events
}

/** The log has each event that a follower has seen, and each of their cursors. */
export function judgeShown(world: World, followers: Followers): void {
  const seen = [...seenBy(followers, 'pages'), ...seenBy(followers, 'stream')]
  const messages = messagesOf(followers)
  // The log is read after what was seen of it.
  const events = readLog(world, world.org)
  const cursors = new Set(cursorsOf(followers, after(followers, events)))
  for (const { cursor } of seen) if (!cursors.has(cursor)) problem(world, `the log does not have the cursor ${cursor}`)
  const ids = new Set(events.map(({ id }) => id))
  for (const one of [...seen.flatMap((line) => line.events), ...messages])
    if (!ids.has(one.id)) problem(world, `the log does not have the event ${one.id}, which was seen as ${one.seq}`)
}

/** Rebuilding the index neither adds nor changes an event. */
export function judgeSame(world: World, before: readonly LoggedEvent[]): void {
  const now = readLog(world, world.org)
  if (JSON.stringify(now) !== JSON.stringify(before))
    problem(world, `the log of events changed: ${JSON.stringify(now.slice(before.length))}`)
}

function seenBy(followers: Followers, kind: 'pages' | 'stream'): SeenEvents[] {
  return readSeen<SeenEvents>(join(followers.folder, `${kind}.seen`))
}

const messagesOf = ({ folder }: Followers) => readSeen<SeenMessage>(join(folder, 'receiver.seen'))

function hasEverything(followers: Followers, events: readonly LoggedEvent[]): boolean {
  const last = events.at(-1)?.seq ?? 0
  const atEnd = (['pages', 'stream'] as const).every((kind) => {
    const cursor = seenBy(followers, kind).at(-1)?.cursor ?? ''
    return Number.parseInt(cursor, 10) >= last
  })
  const received = new Set(messagesOf(followers).map(({ id }) => id))
  return atEnd && after(followers, events).every(({ id }) => received.has(id))
}

/** Deliveries that wait for their next attempt are due at once. */
async function sendAgain({ owner, hook }: Followers): Promise<void> {
  await owner().patch(hook, { active: true })
  const { body } = await owner().get(`${hook}/deliveries?state=pending&limit=200`)
  const soon = new Date(Date.now() + 1_000).toISOString()
  for (const { id, next_attempt_at } of body.deliveries ?? [])
    if (next_attempt_at > soon) await owner().post(`${hook}/deliveries/${id}/redeliver`)
}

/** The events after the cursor where the followers began. */
function after({ start }: Followers, events: readonly LoggedEvent[]): LoggedEvent[] {
  return events.filter(({ seq }) => seq > Number.parseInt(start, 10))
}

/** The cursor file has each event once, in the order of the log. Returns the number of events. */
function judgePages(world: World, followers: Followers, events: readonly LoggedEvent[]): number {
  const ids = seenBy(followers, 'pages').flatMap((line) => line.events.map(({ id }) => id))
  judgeSeen(world, followers, 'pages', events, ids)
  return ids.length
}

/** The stream may show an event again, but none before those that it has not shown. */
function judgeStream(world: World, followers: Followers, events: readonly LoggedEvent[]): number {
  const ids = seenBy(followers, 'stream').flatMap((line) => line.events.map(({ id }) => id))
  judgeSeen(world, followers, 'stream', events, [...new Set(ids)])
  return ids.length
}

function judgeSeen(
  world: World,
  followers: Followers,
  kind: 'pages' | 'stream',
  events: readonly LoggedEvent[],
  ids: readonly string[],
): void {
  const wanted = after(followers, events)
  const at = wanted.findIndex(({ id }, n) => id !== ids[n])
  if (at !== -1 || ids.length !== wanted.length) {
    const place = at === -1 ? wanted.length : at
    problem(
      world,
      `${kind}: ${ids.length} events, not ${wanted.length}; ${ids[place]} is not ${JSON.stringify(wanted[place])}`,
    )
  }
  const faults = join(followers.folder, `${kind}.faults`)
  if (!existsSync(faults)) return
  const lines = readFileSync(faults, 'utf8').split('\n').filter(Boolean)
  problem(world, `${kind} was refused ${lines.length} times: ${lines.slice(0, 3).join('; ')}`)
}

/** The cursors of the log from where the followers began. */
function cursorsOf({ start }: Followers, wanted: readonly LoggedEvent[]): string[] {
  let chain = start.replace(/^.*-/, '')
  return [
    start,
    ...wanted.map(({ id, seq }) => {
      chain = createHash('sha256').update(`${chain}${id}`).digest('hex').slice(0, 16)
      return `${seq}-${chain}`
    }),
  ]
}

/** Each event arrived at least once, signed, and nothing else. Returns the number of messages. */
function judgeMessages(world: World, followers: Followers, events: readonly LoggedEvent[]): number {
  const messages = messagesOf(followers)
  const known = new Map(events.map(({ id, seq }) => [id, seq]))
  for (const { id, eventId, seq, isSigned } of messages)
    if (known.get(id) !== seq || eventId !== id || !isSigned)
      problem(world, `the receiver got ${id} with the event ${eventId} ${seq}, signed: ${isSigned}`)
  const received = new Set(messages.map(({ id }) => id))
  const lost = after(followers, events).filter(({ id }) => !received.has(id))
  if (lost.length > 0) problem(world, `${lost.length} events never arrived: ${JSON.stringify(lost.slice(0, 3))}`)
  return messages.length
}
