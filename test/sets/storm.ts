/**
 * A storm of merges of change sets, beside readers of any number of processes. Each set writes its number into all pages,
 * adds pages, and deletes those that the one before has added. So each answer shows one number, and never a lower one
 * than an earlier answer.
 */

import { expecting } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient } from '../support/people.ts'
import type { Random } from '../support/random.ts'

type Json = Answer['body']

export interface StormPlace {
  readonly org: string
  readonly token: string
  readonly doors: readonly { readonly url: string }[]
  readonly random: Random
}

/** What the merges have made, or are about to. */
interface Plan {
  readonly pages: readonly string[]
  /** The number of the set that made each commit the head of a page. */
  readonly heads: Map<string, number>
  /** The new pages of each set. */
  readonly added: string[][]
  /** The pull requests of each set, as subject and number. Those that delete have `deleted` instead. */
  readonly sets: string[][]
  merged: number
}

/** The least number that a reader may still see. Rows can be behind what Git shows, until somebody reads the page. */
interface Floors {
  git: number
  rows: number
}

export interface StormReport {
  /** How many answers were judged, by kind. */
  readonly reads: Readonly<Record<string, number>>
  readonly merged: readonly (readonly string[])[]
  readonly problems: string[]
}

const words = (round: number, name: string) => ({ title: `Whale ${name} w${round}`, text_content: `Whale w${round}\n` })

/** Merges `rounds` sets while `readers` read at all doors. */
export async function stormOfMerges(place: StormPlace, rounds: number, readers: number): Promise<StormReport> {
  const { org, token, doors, random } = place
  const people = doors.map((door) => client(door, token))
  const [first] = people
  if (first === undefined) throw new Error('There is no door')
  const nodes = [0, 1, 2, 3].map((at) => ({ ref: `${at}`, ...words(0, `${at}`), tags: ['w0'] }))
  const made: Json = (await first.post(`/orgs/${org}/nodes/batch`, { nodes }).then(expecting(201))).body
  const plan: Plan = {
    pages: made.nodes.map(({ id }: Json) => id),
    heads: new Map(),
    added: [[]],
    sets: [[]],
    merged: 0,
  }
  for (const page of plan.pages) plan.heads.set((await first.get(`/orgs/${org}/nodes/${page}`)).body.head, 0)
  const reads: Record<string, number> = {}
  const problems: string[] = []
  let isOver = false
  const reading = Array.from({ length: readers }, async () => {
    const floors: Floors = { git: 0, rows: 0 }
    while (!isOver && problems.length === 0) {
      const at = random.below(people.length)
      const [person, door] = [people[at], doors[at]]
      const kind = random.pick(Object.keys(kinds) as (keyof typeof kinds)[])
      if (person === undefined || door === undefined) return
      const found = await kinds[kind]({ ...place, person, door, plan, floors })
      reads[kind] = (reads[kind] ?? 0) + 1
      problems.push(...found.map((problem) => `${kind} at ${door.url}: ${problem}`))
    }
  })
  const noise = makeNoise(place, people, () => isOver)
  for (let round = 1; round <= rounds && problems.length === 0; round++)
    await mergeOne(random.pick(people), random.pick(people), place, plan, round)
  isOver = true
  await Promise.all([...reading, noise])
  return { reads, merged: plan.sets, problems }
}

/** Changes another page all the time, so that the log has other events too. */
async function makeNoise({ org }: StormPlace, people: readonly Client[], isOver: () => boolean): Promise<void> {
  const made = people.map(async (person, at) => {
    const { id } = (await person.post(`/orgs/${org}/nodes`, { title: `Noise ${at}` }).then(expecting(201))).body
    for (let count = 0; !isOver(); count++)
      await person.patch(`/orgs/${org}/nodes/${id}`, { text_content: `Noise ${count}\n` }).then(expecting(200))
  })
  await Promise.all(made)
}

/** Opens a set of 5 to 12 items by one process, and merges it by another one. */
async function mergeOne(opener: Client, merger: Client, { org, random }: StormPlace, plan: Plan, round: number) {
  const fresh = Array.from({ length: 1 + random.below(4) }, (_, at) => ({
    ...words(round, `new ${at}`),
    tags: [`w${round}`],
  }))
  const changed = plan.pages.map((id, at) => ({ id, ...words(round, `${at}`), tags: [`w${round}`] }))
  const deletions = plan.added[round - 1]?.map((node_id) => ({ node_id })) ?? []
  const body = { title: `Set ${round}`, nodes: [...changed, ...fresh], deletions }
  const { change_set: set, nodes }: Json = (await opener.post(`/orgs/${org}/change-sets`, body).then(expecting(201)))
    .body
  for (const { node_id, source_commit } of set.items)
    if (plan.pages.includes(node_id)) plan.heads.set(source_commit, round)
  plan.added[round] = nodes.slice(changed.length).map(({ id }: Json) => id)
  plan.sets[round] = set.items.map(
    ({ node_id, number, act }: Json) => `nodes/${node_id} ${act === 'delete' ? 'deleted' : number}`,
  )
  await merger.post(`/orgs/${org}/change-sets/${set.number}/merge`).then(expecting(200))
  plan.merged = round
}

interface Reading extends StormPlace {
  readonly person: Client
  readonly door: { readonly url: string }
  readonly plan: Plan
  readonly floors: Floors
}

/** Compares a number with what the reader has seen. */
function judge({ floors }: Reading, kind: keyof Floors, seen: number): string[] {
  const least = floors[kind]
  if (seen < least) return [`the reader saw set ${least} before, and now set ${seen}`]
  floors.git = Math.max(floors.git, seen)
  if (kind === 'rows') floors.rows = Math.max(floors.rows, seen)
  return []
}

const numbersIn = (text: string) => [...new Set(text.match(/\bw\d+/g) ?? [])].map((word) => Number(word.slice(1)))

/** The answer has all pages of one set, and none of another. */
function judgeWhole(reading: Reading, answer: Answer, count: (body: Json, round: number) => number): string[] {
  const [seen, ...others] = numbersIn(JSON.stringify(answer.body))
  if (answer.status !== 200 || seen === undefined || others.length > 0)
    return [`a mix: ${answer.status} ${JSON.stringify(answer.body)}`]
  const expected = reading.plan.pages.length + (reading.plan.added[seen]?.length ?? Number.NaN)
  // The set may be merged before its opener knows its pages.
  const found = count(answer.body, seen)
  if (found !== expected) return [`${found} pages of set ${seen}, not ${expected}: ${JSON.stringify(answer.body)}`]
  return judge(reading, 'rows', seen)
}

/** A page between them has changes of its own. */
const countWhales = ({ nodes }: Json) => nodes.filter(({ title }: Json) => title.startsWith('Whale')).length

type Kind = (reading: Reading) => Promise<string[]>

const kinds = {
  page: async (reading) => {
    const { person, org, plan, random } = reading
    const { body } = await person.get(`/orgs/${org}/nodes/${random.pick(plan.pages)}`).then(expecting(200))
    const numbers = numbersIn(JSON.stringify([body.title, body.text_content, body.tags]))
    const [seen = -1] = numbers
    return numbers.length === 1
      ? // Rows are there for whoever was shown a page.
        [...judge(reading, 'git', seen), ...judge(reading, 'rows', seen)]
      : [`a mix: ${JSON.stringify(body)}`]
  },
  contents: async (reading) => {
    const { person, org, plan, random } = reading
    const path = `/orgs/${org}/nodes/${random.pick(plan.pages)}/tree/main`
    const answer = await person
      .get(`${path}/${random.pick(['raw/content.md', 'files/content.md'])}`)
      .then(expecting(200))
    const [seen = -1] = numbersIn(JSON.stringify(answer.body))
    return judge(reading, 'git', seen)
  },
  head: async (reading) => {
    const { person, org, plan, random } = reading
    const { body } = await person
      .get(`/orgs/${org}/nodes/${random.pick(plan.pages)}/branches/main`)
      .then(expecting(200))
    return judge(reading, 'git', plan.heads.get(body.head) ?? -1)
  },
  'a page that comes and goes': async (reading) => {
    const { person, org, plan, floors } = reading
    const round = Math.max(1, Math.min(plan.added.length - 1, floors.rows + reading.random.below(2)))
    const id = plan.added[round]?.[0]
    if (id === undefined) return []
    const { status } = await person.get(`/orgs/${org}/nodes/${id}`)
    if (status === 200)
      return floors.git > round ? [`the page of set ${round} is still there`] : judge(reading, 'rows', round)
    return status === 404 && floors.git === round ? judge(reading, 'git', round + 1) : []
  },
  'git ls-remote': async (reading) => {
    const { door, org, token, plan, random } = reading
    const url = `${door.url}/git/${org}/${random.pick(plan.pages)}.git/info/refs?service=git-upload-pack`
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    const text = await answer.text()
    if (answer.status === 503) return []
    const [, head = ''] = /([0-9a-f]{40}) refs\/heads\/main\b/.exec(text) ?? []
    const seen = plan.heads.get(head)
    return seen === undefined ? [`${answer.status} ${text}`] : judge(reading, 'git', seen)
  },
  list: async (reading) =>
    judgeWhole(reading, await reading.person.get(`/orgs/${reading.org}/nodes?limit=200`), countWhales),
  tags: async (reading) =>
    judgeWhole(reading, await reading.person.get(`/orgs/${reading.org}/tags`), ({ tags }) => tags[0].num_nodes),
  graph: async (reading) =>
    judgeWhole(reading, await reading.person.get(`/public/orgs/${reading.org}/graph`), countWhales),
  search: async (reading) => {
    const body = { query: 'whale', expansion_depth: 'none' }
    const answer = await reading.person.post(`/orgs/${reading.org}/search/retrieve`, body)
    return judgeWhole(reading, answer, ({ total }) => total)
  },
} satisfies Readonly<Record<string, Kind>>

/** The events of each merge are next to each other in the log. */
export async function judgeAdjacent(
  person: PersonClient,
  org: string,
  merged: StormReport['merged'],
): Promise<string[]> {
  const events: Json[] = []
  for (let after = ''; ; ) {
    const { body } = await person.get(`/orgs/${org}/events?limit=200${after && `&after=${after}`}`).then(expecting(200))
    events.push(...body.events)
    after = body.next
    if (!body.has_more) break
  }
  return merged.slice(1).flatMap((pulls, at) => {
    const nodes = new Set(pulls.map((pull) => pull.split(' ')[0]))
    const ofSet = events.flatMap(({ type, subject, data }, position) =>
      (type === 'pull_request.merged' && pulls.includes(`${subject} ${data.number}`)) ||
      (type === 'node.deleted' && pulls.includes(`${subject} deleted`))
        ? position
        : [],
    )
    const between = events.slice(ofSet[0], (ofSet.at(-1) ?? 0) + 1)
    const strange = between.filter(({ subject }) => !nodes.has(subject))
    return [
      ...(ofSet.length === pulls.length ? [] : [`set ${at + 1} has ${ofSet.length} of ${pulls.length} events`]),
      ...strange.map(({ type, subject }) => `${type} of ${subject} is between the events of set ${at + 1}`),
    ]
  })
}
