/** Random histories in two processes: what the events say, replayed, is what Git has. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { recordGaps } from '../../server/domain/indexing/record-gaps.ts'
import { made } from '../support/cast.ts'
import { newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { chance, seed } from '../support/seed.ts'
import { type LoggedEvent, readLog } from './log-rows.ts'

const steps = Number(process.env.GROVE_TEST_STEPS ?? 60)
const branches = ['main', 'a', 'b', 'c']

describe('a random history', () => {
  let dataDir: string
  let groves: Grove[]
  let ann: PersonClient
  let nodes: TestNode[]
  let url: string

  before(async () => {
    dataDir = await newDataDir()
    groves = [await startGrove({ dataDir, sweeps: false }), await startGrove({ dataDir, sweeps: false })]
    const [first] = groves
    if (first === undefined) throw new Error('No service has started')
    ann = await signUp(first, 'Ann')
    await signUp(first, 'Bob')
    nodes = [await newNode(first, ann), await newNode(first, ann)]
    const { token } = await made(ann.post('/auth/tokens', { name: 'push', access: 'write' }))
    url = first.url.replace('//', `//x:${token}@`)
  })
  after(async () => {
    for (const grove of groves) await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('is in the events: refs, pull requests, members, each once and as CloudEvents', async () => {
    for (let step = 0; step < steps; step++) await act(chance, step)
    const [first] = groves
    if (first === undefined) return
    await recordGaps(first.deps, ann.org, { isFirst: true, nodeIds: nodes.map(({ id }) => id) })
    const log = readLog({ dataDir }, ann.org)
    expect(new Set(log.map(({ id }) => id)).size, `seed ${seed}`).to.equal(log.length)
    for (const event of log) judgeCloudEvent(event)
    const { members } = (await made(ann.get(`/orgs/${ann.org}/members`))) as {
      members: { user_id: string; role: string }[]
    }
    expect(replayMembers(log), `members, seed ${seed}`).to.deep.equal(
      Object.fromEntries(members.map(({ user_id, role }) => [user_id, role])),
    )
    for (const node of nodes) {
      const own = log.filter(({ subject }) => subject === `nodes/${node.id}`)
      expect(replayRefs(own), `refs, seed ${seed}`).to.deep.equal(refsOf(node))
      expect(replayPulls(own), `pull requests, seed ${seed}`).to.deep.equal(await pullsOf(node))
      judgeLedger(node, log, seed)
    }
  })

  /** One change through a door that chance chooses. Refusals are part of the history: they record nothing. */
  async function act(random: () => number, step: number): Promise<void> {
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
    const node = pick(nodes)
    const by = client(pick(groves), ann.session.accessToken)
    const branch = pick(branches)
    const head = await node.git.lines('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)[0]
    const number = 1 + Math.floor(random() * 4)
    const pull = `${node.at}/pull-requests/${number}`
    const changes = [{ action: 'put', path: `${step}.txt`, content: `${step}` }]
    const oid = () => node.git.commit({ files: { 'hand.txt': `${step}` }, parents: head ? [head] : [] })
    const push = (...words: readonly string[]) =>
      promisify(execFile)('git', ['push', '-q', `${url}/git/${ann.org}/${node.id}.git`, ...words], {
        cwd: node.git.dir,
        env: { ...process.env, GIT_TERMINAL_PROMPT: '0' },
      }).catch(() => undefined)
    const doors: (() => unknown)[] = [
      () => by.post(`${node.at}/tree/${branch}/commits`, { message: 'Commit', changes }),
      () => by.post(`${node.at}/branches`, { name: branch }),
      () => by.delete(`${node.at}/branches/${branch}`),
      () => by.post(`${node.at}/pull-requests`, { source_branch: branch, title: `Pull ${step}` }),
      () => by.patch(pull, { title: `Title ${step}` }),
      () => by.patch(pull, { status: pick(['open', 'closed']) }),
      () => by.post(`${pull}/merge`, {}),
      () => by.post(`${pull}/comments`, { text: `Comment ${step}` }),
      () => by.post(`${pull}/reviews`, { verdict: pick(['approve', 'comment']), text: 'Read.' }),
      () => head && by.put(`${node.at}/checks/${head}/ci`, { state: pick(['success', 'failure']) }),
      () => push(`${oid()}:refs/heads/${branch}`),
      () => push(`+${oid()}:refs/tags/v${number}`),
      () => push(`:refs/tags/v${number}`),
      () => node.git.point(branch, oid()),
      () => node.git.say('update-ref', `refs/tags/v${number}`, oid()),
      () => by.put(`/orgs/${ann.org}/members/bob@example.org`, { role: pick(['reader', 'editor']) }),
      () => by.delete(`/orgs/${ann.org}/members/bob@example.org`),
      () => by.get(node.at),
    ]
    await pick(doors)()
  }
})

/** The refs after all events over an empty map. */
function replayRefs(events: readonly LoggedEvent[]): Record<string, string> {
  const refs = new Map<string, string>()
  for (const { type, data } of events) {
    if (type === 'node.created') refs.set('refs/heads/main', data.head)
    const [kind, what] = type.split('.')
    if (kind !== 'branch' && kind !== 'tag') continue
    const ref = `refs/${kind === 'branch' ? 'heads' : 'tags'}/${data.name}`
    expect(data.before, `${type} ${ref}`).to.equal(refs.get(ref))
    if (what === 'deleted') refs.delete(ref)
    else refs.set(ref, data.after)
  }
  return Object.fromEntries([...refs].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function refsOf(node: TestNode): Record<string, string> {
  const lines = node.git.lines('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads', 'refs/tags')
  return Object.fromEntries(lines.map((line) => line.split(' ')).sort(([a = ''], [b = '']) => (a < b ? -1 : 1)))
}

/** The roles of members after all events. */
function replayMembers(events: readonly LoggedEvent[]): Record<string, string> {
  const roles: Record<string, string> = {}
  for (const { type, data } of events)
    if (type === 'member.removed') delete roles[data.user_id]
    else if (type.startsWith('member.')) roles[data.user_id] = data.role
  return roles
}

/** The state and the title of each pull request after all events. */
function replayPulls(events: readonly LoggedEvent[]): Record<string, readonly string[]> {
  const pulls: Record<string, readonly string[]> = {}
  const states: Record<string, string> = { opened: 'open', reopened: 'open', closed: 'closed', merged: 'merged' }
  for (const { type, data } of events) {
    const [kind = '', what = ''] = type.split('.')
    if (kind !== 'pull_request') continue
    pulls[data.number] = [states[what] ?? pulls[data.number]?.[0] ?? '', data.title]
  }
  return pulls
}

async function pullsOf(node: TestNode): Promise<Record<string, readonly string[]>> {
  const files = node.git.lines('ls-tree', '-r', '--name-only', 'refs/grove/ledger', 'pulls/')
  const records = files.map((path) => JSON.parse(node.git.say('cat-file', 'blob', `refs/grove/ledger:${path}`)))
  return Object.fromEntries(records.map(({ number, status, title }) => [number, [status, title]]))
}

/** Each commit of the ledger has its event, and no event of another commit is there. */
function judgeLedger(node: TestNode, log: readonly LoggedEvent[], seed: number): void {
  const commits = node.git.lines('rev-list', '--first-parent', '--reverse', 'refs/grove/ledger')
  const kinds = /^(pull_request\.(?!updated)|comment|thread|review|suggestion|check|node\.created)/
  const own = log.filter(({ type, subject }) => subject === `nodes/${node.id}` && kinds.test(type))
  const found = new Set<string>()
  for (const [at, commit] of commits.entries()) {
    const of = own.filter(({ id, type, data }) =>
      [commit, `${commit}:${data.entry}`, `${commit}:${data.name}`].some((key) => id === idOf(node, type, key)),
    )
    for (const { id } of of) found.add(id)
    const changed =
      at === 0
        ? ['node.json']
        : node.git.lines('diff-tree', '-r', '--name-only', `${commit}^1`, commit, '--', 'pulls', 'reviews', 'checks')
    expect(of.length > 0 || changed.length === 0, `${commit} changes ${changed}, seed ${seed}`).to.equal(true)
  }
  expect(
    own.filter(({ id }) => !found.has(id)).map(({ type }) => type),
    `no commit, seed ${seed}`,
  ).to.deep.equal([])
}

function idOf({ org, id }: TestNode, type: string, key: string): string {
  return createHash('sha256').update([org, id, type, key].join('\n')).digest('hex').slice(0, 32)
}

/** The rules of CloudEvents 1.0 for an event in structured JSON. */
function judgeCloudEvent(event: LoggedEvent): void {
  const { data, ...attributes } = event as LoggedEvent & Record<string, unknown>
  expect(attributes).to.include({ specversion: '1.0', datacontenttype: 'application/json' })
  for (const name of ['id', 'source', 'type'] as const)
    expect(attributes[name], name).to.be.a('string').that.is.not.equal('')
  expect(new URL(String(attributes.source), 'https://grove.example').pathname).to.equal(attributes.source)
  expect(attributes.time).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/)
  for (const [name, value] of Object.entries(attributes)) {
    expect(name).to.match(/^[a-z0-9]{1,20}$/)
    expect(typeof value, name).to.be.oneOf(['string', 'number', 'boolean'])
    if (typeof value === 'number') expect(Number.isInteger(value) && Math.abs(value) < 2 ** 31, name).to.equal(true)
  }
  expect(data).to.be.an('object')
}
