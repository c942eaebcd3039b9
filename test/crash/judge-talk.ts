/** The oracle of a storm's comments and reviews: the files of the ledger, which native git reads. */

import type { Git } from '../support/git.ts'
import type { Answer, Client } from '../support/people.ts'
import { problem } from './problems.ts'
import type { Entry, EntryState, Request, SharedNode, World } from './world.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of an entry
export type Found = { readonly number: number; readonly json: any } // each use says what it expects

/** Settles what was unknown. Entries are 1…n, and each that was acknowledged is there once, as it was acknowledged. */
export function judgeTalk(world: World, git: Git, node: SharedNode): Map<number, Found[]> {
  const found = readEntries(git)
  const ids = [...found.values()].flat().flatMap(({ json }) => json.id ?? [])
  if (new Set(ids).size < ids.length) problem(world, `an entry of ${node.at} is there twice`)
  for (const [pull, entries] of found) {
    const numbers = entries.map(({ number }) => number)
    if (numbers.some((number, at) => number !== at + 1)) problem(world, `entries of ${node.at} ${pull}: ${numbers}`)
    const end = entries.findIndex(({ json }) => ['merge', 'close'].includes(json.event))
    if (end >= 0 && entries.slice(end).some(({ json }) => json.kind === 'verdict'))
      problem(world, `request ${pull} of ${node.at} has a verdict after its end`)
  }
  for (const request of node.requests) judgeRequest(world, node, request, found.get(request.number ?? 0) ?? [])
  return found
}

function judgeRequest(world: World, node: SharedNode, request: Request, found: readonly Found[]): void {
  const at = `${node.at} ${request.number}`
  request.entries = request.entries.filter((entry) => {
    const one = found.find(({ json }) =>
      entry.id === undefined ? json.text === entry.state.text : json.id === entry.id,
    )
    if (!one && entry.isUnsure) return false
    if (!one || (entry.number !== undefined && entry.number !== one.number)) {
      problem(world, `entry ${entry.number} of ${at} is lost: ${JSON.stringify(entry)}`)
      return false
    }
    entry.number = one.number
    entry.id = one.json.id
    entry.isUnsure = false
    judgeState(world, at, entry, one)
    return true
  })
  const said = found.filter(({ json }) => json.kind !== 'event').length
  const known = request.entries.reduce((sum, { comments = 0 }) => sum + 1 + comments, 0)
  if (said !== known) problem(world, `${at} has ${said} comments and reviews instead of ${known}`)
}

function judgeState(world: World, at: string, entry: Entry, { number, json }: Found): void {
  const now: EntryState = {
    text: json.text,
    isDeleted: json.deleted !== undefined,
    isResolved: json.resolved !== undefined,
    isWithdrawn: json.withdrawn !== undefined,
  }
  const isAs = (state: EntryState | undefined) => JSON.stringify(state) === JSON.stringify(now)
  if (json.thread !== entry.thread || (!isAs(entry.state) && !isAs(entry.asked)))
    problem(world, `entry ${number} of ${at} is ${JSON.stringify(json)}, was told as ${JSON.stringify(entry)}`)
  entry.state = now
  delete entry.asked
  const texts = Array.from({ length: entry.comments ?? 0 }, (_, n) => number - 1 - n)
  if (entry.kind === 'verdict' && json.comments.join() !== texts.join())
    problem(world, `review ${number} of ${at} has the comments ${json.comments}`)
}

/** The service shows the entries that git has. */
export async function judgeTimelines(
  world: World,
  person: Client,
  node: SharedNode,
  found: ReadonlyMap<number, readonly Found[]>,
): Promise<void> {
  for (const [pull, entries] of found) {
    const { status, body } = await person.get(`${node.at}/pull-requests/${pull}/timeline?limit=200`)
    const shown = (body.entries ?? []).map(
      ({ entry, comment, review, event }: Answer['body']) =>
        `${entry} ${comment?.text ?? review?.text ?? event?.event}`,
    )
    const wanted = entries.slice(0, 200).map(({ number, json }) => `${number} ${json.text ?? json.event}`)
    if (shown.join() !== wanted.join())
      problem(world, `timeline of ${node.at} ${pull}: ${status} ${shown}, not ${wanted}`)
  }
}

/** By request, sorted by number. */
function readEntries(git: Git): Map<number, Found[]> {
  const files = git.lines('ls-tree', '-r', 'refs/grove/ledger', 'reviews/').map((line) => line.split(/[ \t]/))
  const input = files.map(([, , blob]) => `${blob}\n`).join('')
  let answer = git.run(['cat-file', '--batch'], { input })
  const found = new Map<number, Found[]>()
  for (const [, , , path = ''] of files) {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', 0, 100)) ?? []
    const json = JSON.parse(answer.toString('utf8', head.length, head.length + Number(size)))
    answer = answer.subarray(head.length + Number(size) + 1)
    const [pull = 0, number = 0] = (/(\d+)\/\d+\/(\d+)\.json$/.exec(path) ?? []).slice(1).map(Number)
    const entries = found.get(pull) ?? []
    entries.push({ number, json })
    found.set(pull, entries)
  }
  for (const entries of found.values()) entries.sort((a, b) => a.number - b.number)
  return found
}
