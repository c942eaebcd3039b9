/** Fills the data folder of a demo, by requests to a service. Its clock goes from half a year ago to today. */

import { v5 as idOf } from 'uuid'
import { type Grove, grove, type Schemas } from '../../spec/client/client.ts'
import type { Config } from '../base/config.ts'
import { createLog } from '../http/log/log.ts'
import { connectionOf } from '../pages/linking.ts'
import type { startService } from '../process/service.ts'
import { dayBefore, type Edit, type Page, readHandbook, replaced, type Turn, type Writer } from './handbook.ts'
import { organisation, people } from './people.ts'

/** Days before today: when everything begins, and when the rule begins to hold. */
const days = { begin: 182, rule: 121 } as const
/** Milliseconds between two requests. */
const betweenMs = 4_000
/** Milliseconds after which a user signs in again. The access token expires after 15 minutes. */
const signedInMs = 10 * 60_000
/** The cost of password hashes, which protect nothing here. */
const passwordCost = { memoryKib: 1024, passes: 2 }

type User = keyof typeof people
type Pull = Schemas['PullRequest']

interface Step {
  readonly day: number
  run(): Promise<unknown>
}

/** Returns the id of the organisation. @param start starts the service @throws GroveError and errors of `start` */
export async function fillDemo(config: Config, start: typeof startService, today: Date = new Date()): Promise<string> {
  const clock = { ms: dayBefore(today, days.begin).getTime() }
  const options = { now: () => new Date(clock.ms), log: createLog('error'), sweeps: false }
  const service = await start({ ...config, port: 0, rateLimit: false, passwordCost }, options)
  try {
    const { pages, types } = await readHandbook(today)
    const story = new Story(service.url, clock, pages)
    await story.begin(types)
    for (const [at, { day, run }] of stepsOf(story, pages).entries()) {
      clock.ms = Math.max(clock.ms, dayBefore(today, day + earlier(at)).getTime())
      await run()
    }
    await story.end()
    return story.org
  } finally {
    await service.close()
  }
}

/** Up to two hours, in days. So not everything happens at one time of the day. */
function earlier(at: number): number {
  return ((at * 5) % 9) / 100
}

/** Returns all steps in the order of their days. Pages that a user creates on one day are one batch. */
function stepsOf(story: Story, pages: readonly Page[]): Step[] {
  const batches = new Map(pages.map(({ day, by }) => [`${day} ${by}`, { day, by }]))
  const steps = [...batches.values()].map(({ day, by }): Step => {
    return {
      day,
      run: () =>
        story.create(
          by,
          pages.filter((page) => page.day === day && page.by === by),
        ),
    }
  })
  for (const page of pages) for (const edit of page.edits) steps.push(...story.stepsOfEdit(page, edit))
  const safety = pages.find(({ key }) => key === 'safety')
  if (safety) steps.push({ day: days.rule, run: () => story.addRule(safety) })
  return steps.sort((one, other) => other.day - one.day)
}

/** The requests, in the names of the users. */
class Story {
  org = ''
  readonly #url: string
  readonly #clock: { ms: number }
  readonly #signedIn = new Map<User, { readonly api: Grove; readonly at: number }>()
  readonly #userIds = new Map<User, string>()
  readonly #pages: readonly Page[]
  /** Titles of the pages that have been created. */
  readonly #existing = new Set<string>()
  #assistant: Grove | undefined

  constructor(url: string, clock: { ms: number }, pages: readonly Page[]) {
    this.#url = url
    this.#clock = clock
    this.#pages = pages
  }

  /** Creates the accounts, the organisation, its types and its assistant. */
  async begin(types: Readonly<Record<string, object>>): Promise<void> {
    for (const user of Object.keys(people) as User[]) {
      const { email, name, password } = people[user]
      const { user: created } = await this.#client().signUp({ body: { email, name, password } })
      this.#userIds.set(user, created.id)
    }
    const ann = await this.#as('ann')
    const { id: org_id } = await ann.createOrg({ body: organisation })
    this.org = org_id
    for (const { email, role } of [people.ben, people.cleo])
      await ann.putMember({ path: { org_id, email }, body: { role } })
    for (const [type_name, definition] of Object.entries(types))
      await ann.putType({ path: { org_id, type_name }, body: { definition: definition as Schemas['TypeDefinition'] } })
    const bot = await ann.createBot({ path: { org_id }, body: { name: 'Fathom', role: 'contributor' } })
    const body = { name: 'Handbook assistant', access: 'propose' } as const
    const { token } = await ann.createBotToken({ path: { org_id, bot_id: bot.id }, body })
    this.#assistant = this.#client({ token }, { 'Grove-Agent': 'fathom' })
  }

  /** Ends the sessions of the half year but the last one of each user. */
  async end(): Promise<void> {
    for (const user of Object.keys(people) as User[]) await (await this.#as(user)).endOtherSessions()
  }

  /** Approvals are needed below the page. */
  async addRule(page: Page): Promise<void> {
    const rule = { branches: ['main'], under: this.#idOf(page.key), approvals: 1, resolved: true }
    await (await this.#as('ann')).updateOrg({ path: { org_id: this.org }, body: { rules: [rule] } })
  }

  /** Creates pages, and connects older pages that lead to them. */
  async create(by: User, pages: readonly Page[]): Promise<void> {
    const api = await this.#as(by)
    const added = new Set(pages.map(({ title }) => title))
    const older = this.#pages.filter(({ title }) => this.#existing.has(title))
    for (const title of added) this.#existing.add(title)
    const created = pages.map((page) => {
      const { title, parent, tags, properties, files, text } = page
      return {
        ...{ title, text_content: text, properties, tags: [...tags], files: [...files], message: `Write “${title}”` },
        ...{ parents: parent === undefined ? [] : [this.#idOf(parent)], ...this.#connected(page) },
      }
    })
    const linked = older.flatMap((page) => {
      const names = this.#edgesOf(page).flatMap(({ name }) => (added.has(name) ? [`“${name}”`] : []))
      return names.length === 0 ? [] : [{ ...this.#connected(page), message: `Link to ${names.join(', ')}` }]
    })
    await api.putNodes({ path: { org_id: this.org }, body: { nodes: [...created, ...linked] } })
  }

  /** The id of a page, and its connections to pages that exist. */
  #connected(page: Page) {
    const edges = this.#edgesOf(page).filter(({ name }) => this.#existing.has(name))
    return { id: this.#idOf(page.key), connections: edges.map(({ edge }) => edge) }
  }

  #edgesOf({ title, to, links }: Page) {
    const typed = Object.entries(to).flatMap(([type, names]) =>
      names.map((name) => ({ name, edge: { type, target: this.#idOf(name) } })),
    )
    const linked = links
      .filter((name) => name !== title)
      .map((name) => ({ name, edge: connectionOf(name, 'links_to', this.#idOf(name)) }))
    return [...typed, ...linked]
  }

  /** Returns the step of a change, or those of a proposal. Without a conversation, Ben merges it. */
  stepsOfEdit(page: Page, edit: Edit): Step[] {
    const { by, day, proposal = { talk: [{ by: 'ben', day: day - 0.3, end: 'merge' }] } } = edit
    if (edit.proposal === undefined && (by === 'ann' || by === 'ben'))
      return [{ day, run: () => this.#change(by, page, edit) }]
    let number = 0
    const entries: number[] = []
    const propose = async () => {
      number = (await this.#propose(page, edit)).number
    }
    const turns = proposal.talk.map((turn) => ({
      day: turn.day,
      run: async () => {
        entries.push((await this.#take(page, number, turn, entries)) ?? 0)
      },
    }))
    return [{ day, run: propose }, ...turns]
  }

  async #change(by: User, page: Page, { was, now, set, message }: Edit): Promise<void> {
    const api = await this.#as(by)
    const path = this.#pathOf(page)
    const { text_content } = await api.getNode({ path })
    const body = { text_content: replaced(text_content, was, now), ...(set && { merge_properties: set }), message }
    await api.updateNode({ path, body })
  }

  async #propose(page: Page, edit: Edit): Promise<Pull> {
    const api = await this.#of(edit.by)
    const path = this.#pathOf(page)
    const { branch_prefix = '' } = await api.getOrg({ path: { org_id: this.org } })
    const source_branch = `${branch_prefix}${slugOf(edit.message)}`
    await api.createBranch({ path, body: { name: source_branch } })
    await this.#commit(api, page, source_branch, edit)
    const reviewers = edit.proposal?.reviewers?.map((user) => this.#userIds.get(user) ?? '') ?? []
    const body = { source_branch, title: edit.message, description: edit.proposal?.text ?? '', reviewers }
    return (await api.openPull({ path, body })).pr
  }

  async #commit(api: Grove, page: Page, branch: string, { was, now, message }: Pick<Edit, 'was' | 'now' | 'message'>) {
    const path = { ...this.#pathOf(page), branch }
    const { content: text = '' } = await api.getFile({ path: { ...path, path: 'content.md' } })
    const content = replaced(text, was, now)
    const body = { message, changes: [{ action: 'put' as const, path: 'content.md', content }] }
    await api.createCommit({ path, body })
  }

  /** Takes one step of a conversation. Returns the number of its entry, if it is one. */
  async #take(page: Page, number: number, turn: Turn, entries: readonly number[]): Promise<number | undefined> {
    const api = await this.#as(turn.by)
    const path = { ...this.#pathOf(page), number }
    const { pr } = await api.getPull({ path })
    const { say: text = '', on, suggest: suggestion, review: verdict } = turn
    const expected_source_commit = pr.source_commit
    const entryAt = (step: number) => entries[step] ?? 0
    if (turn.change) await this.#commit(api, page, pr.source_branch, turn.change)
    if (verdict !== undefined)
      return (await api.submitReview({ path, body: { verdict, text, expected_source_commit } })).entry
    if (turn.apply !== undefined)
      await api.applySuggestions({ path, body: { comments: [entryAt(turn.apply)], expected_source_commit } })
    if (turn.resolve !== undefined)
      await api.updateThread({ path: { ...path, entry: entryAt(turn.resolve) }, body: { resolved: true } })
    const anchor = on && { commit: expected_source_commit, path: 'content.md', quote: { exact: on } }
    const about = turn.answer === undefined ? { ...(anchor && { anchor }) } : { thread: entryAt(turn.answer) }
    const body = { text, ...about, ...(suggestion !== undefined && { suggestion }) }
    const entry = text === '' ? undefined : (await api.createComment({ path, body })).entry
    if (turn.end === 'merge') await api.mergePull({ path, body: {} })
    if (turn.end === 'close') await api.updatePull({ path, body: { status: 'closed' } })
    return entry
  }

  /** @param name the key or the title of a page. Ids follow from keys and the organisation. */
  #idOf(name: string): string {
    const page = this.#pages.find(({ key, title }) => key === name || title === name)
    if (page === undefined) throw new Error(`The demo has no page ${name}`)
    return idOf(page.key, this.org)
  }

  #pathOf({ key }: Page) {
    return { org_id: this.org, node_id: this.#idOf(key) }
  }

  async #of(writer: Writer): Promise<Grove> {
    if (writer !== 'assistant') return this.#as(writer)
    if (this.#assistant === undefined) throw new Error('The demo has no assistant yet')
    return this.#assistant
  }

  async #as(user: User): Promise<Grove> {
    const known = this.#signedIn.get(user)
    if (known && this.#clock.ms - known.at < signedInMs) return known.api
    const { email, password } = people[user]
    const { accessToken: token } = await this.#client().logIn({ body: { email, password } })
    const api = this.#client({ token })
    this.#signedIn.set(user, { api, at: this.#clock.ms })
    return api
  }

  /** Each request takes a few seconds of the service's clock. */
  #client(options: { readonly token?: string } = {}, headers: Readonly<Record<string, string>> = {}): Grove {
    const send: typeof fetch = (address, init) => {
      this.#clock.ms += betweenMs
      const sent = new Headers(init?.headers)
      for (const [name, value] of Object.entries(headers)) sent.set(name, value)
      return fetch(address, { ...init, headers: sent })
    }
    return grove({ url: this.#url, fetch: send, ...options })
  }
}

function slugOf(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/-$/, '')
    .slice(0, 48)
}
