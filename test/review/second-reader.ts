/** A second reader of a ledger. It knows only the format of the files, and reads them with native git. */
import type { Git } from '../support/git.ts'

// biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
type Json = any // each use checks what it needs
type Entry = { readonly entry: number; readonly body: string; readonly kind: string; readonly json: Json }
export type Reading = ReturnType<typeof readConversation>

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const oid = /^[0-9a-f]{40}$/
const isTime = (at: unknown) => typeof at === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(at)

/** The conversations of all numbers that have a record or an entry. */
export function secondReading(git: Git): Map<number, Reading> {
  const listed = git.lines('ls-tree', '-r', 'refs/grove/ledger').map((line) => line.split(/[ \t]/))
  let answer = git.run(['cat-file', '--batch'], { input: listed.map(([, , blob]) => `${blob}\n`).join('') })
  const files = listed.map(([, , , path = '']) => {
    const [head = '', size] = /^\S+ blob (\d+)\n/.exec(answer.toString('latin1', 0, 100)) ?? []
    const text = answer.subarray(head.length, head.length + Number(size))
    answer = answer.subarray(head.length + text.length + 1)
    return { path, text }
  })
  const records = new Map<number, Json>()
  const entries = new Map<number, Entry[]>()
  for (const { path, text } of files) {
    const [, at, number] = /^(pulls|reviews\/0\/0\/\d+\/\d+|pulls\/0\/0)\/(\d+)\.json$/.exec(path) ?? []
    if (at === 'pulls/0/0') records.set(Number(number), JSON.parse(text.toString()))
    const [, pull = '', hundred] = /^reviews\/0\/0\/([1-9]\d?)\/(\d+)$/.exec(at ?? '') ?? []
    const entry = Number(number)
    if (pull === '' || `${entry}` !== number || entry < 1 || hundred !== `${Math.floor(entry / 100)}`) continue
    const json = text.length > 262_144 ? undefined : parsed(text.toString())
    const kind = kindOf(json)
    const list = entries.get(Number(pull)) ?? []
    entries.set(Number(pull), list.concat({ entry, kind, json, body: kind === 'damaged' ? '' : text.toString() }))
  }
  const numbers = new Set([...records.keys(), ...entries.keys()])
  return new Map(
    [...numbers].map((number) => {
      const list = (entries.get(number) ?? []).sort((a, b) => a.entry - b.entry)
      return [number, readConversation(records.get(number), list)]
    }),
  )
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function kindOf(json: Json): string {
  if (typeof json?.kind !== 'string') return 'damaged'
  const { kind, id, by, at, head, text, thread = 1, verdict, event } = json
  if (!['comment', 'verdict', 'event'].includes(kind)) return 'unknown'
  const isDated = isTime(at) && typeof by?.name === 'string' && typeof by.email === 'string'
  const isSaid = uuid.test(id) && oid.test(head) && typeof text === 'string'
  const isWhole = { comment: isSaid && thread >= 1, verdict: isSaid && typeof verdict === 'string', event }[
    kind as 'event'
  ]
  return isDated && isWhole ? kind : 'damaged'
}

function readConversation(record: Json, entries: readonly Entry[]) {
  const comments = entries.filter(({ kind }) => kind === 'comment')
  const threadOf = ({ entry, json }: Entry): number => json.thread ?? entry
  const threads = comments
    .filter((one) => threadOf(one) === one.entry)
    .map((first) => {
      const all = comments.filter((one) => threadOf(one) === first.entry)
      const isResolved = first.json.resolved !== undefined
      const isOpen = !isResolved && all.some(({ json }) => !json.deleted && !json.erased)
      const answers = all.filter((one) => one !== first)
      return { thread: first.entry, isResolved, isOpen, texts: [first, ...answers].map(({ json }) => json.text) }
    })
  const users = new Map<string, { own: number; mention: number; answer: number }>()
  const of = (user: string) =>
    users.get(user) ?? users.set(user, { own: 0, mention: 0, answer: 0 }).get(user) ?? never()
  for (const { entry, kind, json } of entries) {
    if (kind === 'damaged' || kind === 'unknown') continue
    if (json.by.id) of(json.by.id).own = entry
    for (const user of kind === 'comment' ? (json.mentions ?? []) : []) if (uuid.test(user)) of(user).mention = entry
  }
  const live = comments.filter(({ json }) => !json.deleted && !json.erased)
  for (const mine of live)
    for (const other of live)
      if (mine.json.by.id && threadOf(mine) === threadOf(other) && other.json.by.id !== mine.json.by.id)
        of(mine.json.by.id).answer = Math.max(of(mine.json.by.id).answer, other.entry)
  const last = entries.at(-1)
  const lastAt = last?.kind === 'damaged' || !isTime(last?.json?.at) ? null : last?.json.at
  const openThreads = threads.filter(({ isOpen }) => isOpen).length
  const reviews = entries.filter(({ kind }) => kind === 'verdict')
  return {
    record,
    entries,
    threads,
    users,
    reviews,
    comments: live.length,
    openThreads,
    last: last?.entry ?? 0,
    lastAt,
  }
}

function never(): never {
  throw new Error('A map keeps what it is given')
}
