import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { commitOf, created, times } from './support/concurrency-rules.ts'
import { expectSound, gitLines, locksIn } from './support/data-folder.ts'
import {
  type Answer,
  type Client,
  client,
  type Grove,
  newDataDir,
  type PersonClient,
  type SpawnedGrove,
  signUp,
  spawnGrove,
  startGrove,
} from './support/grove.ts'
import { newNode, type TestNode } from './support/node.ts'

describe('a process that is killed', () => {
  it('loses nothing that it has said was done, and the next one finds everything in order', async () => {
    const dataDir = await newDataDir()
    let grove = await spawnGrove(dataDir, { PUBLIC_URL: 'https://grove.example' })
    try {
      const ann = await signUp(grove, 'Ann')
      const work = await newWork({ dataDir }, ann)
      for (let round = 0; round < 4; round++) {
        const storm = startStorm([grove], ann, work, round)
        await storm.until(15 + Math.floor(Math.random() * 30))
        await grove.kill()
        await storm.ended
        grove = await spawnGrove(dataDir, { PUBLIC_URL: 'https://grove.example' })
        await expectKept(client(grove, ann.session.accessToken), work)
        await expectSound(dataDir)
      }
      const before = await readWork(client(grove, ann.session.accessToken), work)
      expect(await grove.stop()).to.equal(0)
      for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
      grove = await spawnGrove(dataDir, { PUBLIC_URL: 'https://grove.example' })
      expect(await readWork(client(grove, ann.session.accessToken), work)).to.deep.equal(before)
    } finally {
      await grove.kill()
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  it('leaves nothing that keeps another one, which lives, from going on at once', async () => {
    const dataDir = await newDataDir()
    const living = await spawnGrove(dataDir)
    let dying = await spawnGrove(dataDir)
    try {
      const ann = await signUp(living, 'Ann')
      const work = await newWork({ dataDir }, ann)
      for (let round = 0; round < 2; round++) {
        const storm = startStorm([living, dying], ann, work, round)
        await storm.until(15 + Math.floor(Math.random() * 30))
        await dying.kill()
        await storm.until(storm.done() + 20)
        storm.stop()
        await storm.ended
        await expectKept(client(living, ann.session.accessToken), work)
        dying = await spawnGrove(dataDir)
        await expectSound(dataDir)
      }
      expect(await living.stop()).to.equal(0)
    } finally {
      await Promise.all([living.kill(), dying.kill()])
      await rm(dataDir, { recursive: true, force: true })
    }
  })

  describe('within a ref transaction', () => {
    let grove: Grove
    let ann: PersonClient
    let node: TestNode
    let source: string
    let merge: Moves

    beforeEach(async () => {
      grove = await startGrove({ dataDir: await newDataDir() })
      ann = await signUp(grove, 'Ann')
      node = await newNode(grove, ann)
      source = await node.proposal('dolphins')
      await node.open('dolphins')
      merge = { 'refs/heads/main': source, 'refs/grove/ledger': mergedLedger(node) }
    })
    afterEach(async () => {
      await grove.close()
      await rm(grove.dataDir, { recursive: true, force: true })
    })

    it('has done nothing if it had only prepared: whoever needs the branch undoes it', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 0 })
      const commit = created(await ann.post(`${node.at}/tree/main/commits`, commitOf('Another')))
      expect(commit.parent_commits).to.deep.equal([node.git.say('rev-parse', 'main~1')])
      expect((await node.pull(1)).merge_reason).to.equal('diverged')
      expect(ledgerOf(node)).to.deep.equal(['open 1', 'create'])
      await expectSound(grove.dataDir)
    })

    it('has done all of it if the first ref was moved: whoever needs one of the others finishes it', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 1 })
      expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Somebody' })
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(merge['refs/grove/ledger'])
      expect((await ann.post(`${node.at}/pull-requests/1/merge`, {})).status).to.equal(200)
      expect(ledgerOf(node)).to.deep.equal(['merge 1', 'open 1', 'create'])
      await expectSound(grove.dataDir)
    })

    it('has done all of it if the first ref was moved, also where a power cut has emptied the file of another’s value', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 1, lost: 'values' })
      expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Somebody' })
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(merge['refs/grove/ledger'])
      await expectSound(grove.dataDir)
    })

    it('leaves a lock that says enough: without the folder that a power cut took it keeps nobody waiting', async () => {
      const process = randomUUID()
      await leaveTransaction(grove, node.git.dir, { process, moves: merge, lost: 'folder' })
      created(await ann.post(`${node.at}/tree/main/commits`, commitOf('At once')))
      expect(await locksIn(grove.dataDir)).to.deep.equal([])
      expect(ledgerOf(node)).to.deep.equal(['open 1', 'create'])
      await expectSound(grove.dataDir)
    })

    it('is finished by two who meet it together as by one', async () => {
      const other = await startGrove({ dataDir: grove.dataDir })
      try {
        await leaveTransaction(grove, node.git.dir, { moves: merge, made: 1 })
        const doors = [ann, client(other, ann.session.accessToken)]
        const answers = await times(6, (n) =>
          (doors[n % 2] ?? ann).post(`${node.at}/tree/main/commits`, commitOf(`after ${n}`)),
        )
        expect(answers.map(({ status }) => status)).to.deep.equal(Array(6).fill(201))
        expect(ledgerOf(node)).to.deep.equal(['merge 1', 'open 1', 'create'])
        await expectSound(grove.dataDir)
      } finally {
        await other.close()
      }
    })

    it('has deleted a branch that was packed, if it had begun to', async () => {
      node.git.say('pack-refs', '--all', '--prune')
      const ended = {
        'refs/grove/pulls/1': source,
        'refs/heads/dolphins': null,
        'refs/grove/ledger': closedLedger(node),
      }
      await leaveTransaction(grove, node.git.dir, { moves: ended, made: 1 })
      expect((await ann.delete(`${node.at}/branches/dolphins`)).body.code).to.equal('branch_not_found')
      expect(await node.pull(1)).to.include({ status: 'closed', source_commit: source })
      expect(node.git.lines('for-each-ref', '--format=%(refname)', 'refs/heads')).to.deep.equal(['refs/heads/main'])
      await expectSound(grove.dataDir)
    })

    it('is recovered at the start, also if it died while it merged a new parent under the lock of the graph', async () => {
      await grove.close()
      const process = randomUUID()
      const graph = join(grove.dataDir, ann.org, 'org.git')
      const note = `${ann.org}/${node.id}`
      await leaveTransaction(grove, graph, { process, note, locks: ['refs/grove/graph'] })
      await leaveTransaction(grove, node.git.dir, { process, moves: merge, made: 1 })
      await restarted(async (next) => {
        expect(await locksIn(grove.dataDir)).to.deep.equal([])
        expect(ledgerOf(node)).to.deep.equal(['merge 1', 'open 1', 'create'])
        expect((await next.get(`${node.at}/pull-requests/1`)).body.pr.status).to.equal('merged')
      })
    })

    it('does not keep the next one from starting if the node that it was changing cannot be read', async () => {
      const parent = await newNode(grove, ann)
      await grove.close()
      const graph = join(grove.dataDir, ann.org, 'org.git')
      await leaveTransaction(grove, graph, { note: `${ann.org}/${node.id}`, locks: ['refs/grove/graph'] })
      await writeFile(join(node.git.dir, 'refs/grove/ledger'), 'What nobody can mend\n')
      await restarted(async (next) => {
        expect((await next.get(node.at)).body.code).to.equal('repo_damaged')
        created(await next.post(`/orgs/${ann.org}/nodes`, { title: 'Calf', parents: [parent.id] }))
      })
    })

    /** Ann at a new process over the same folder. */
    async function restarted(work: (next: Client) => Promise<void>): Promise<void> {
      const next = await spawnGrove(grove.dataDir)
      await work(client(next, ann.session.accessToken)).finally(() => next.stop())
    }
  })
})

describe('a hand on the server', () => {
  let grove: SpawnedGrove
  let ann: PersonClient
  let node: TestNode
  let neighbour: TestNode

  before(async () => {
    grove = await spawnGrove(await newDataDir())
    ann = await signUp(grove, 'Ann')
  })
  after(async () => {
    await grove?.kill()
    await rm(grove.dataDir, { recursive: true, force: true })
  })
  beforeEach(async () => {
    node = await newNode(grove, ann)
    neighbour = await newNode(grove, ann)
  })
  afterEach(async () => {
    expect((await ann.get(neighbour.at)).status).to.equal(200)
    expect((await ann.post(`${neighbour.at}/tree/main/commits`, commitOf('Beside it'))).status).to.equal(201)
    expect((await ann.get(`/orgs/${ann.org}/nodes`)).status).to.equal(200)
    expect((await ann.post(`/orgs/${ann.org}/search/retrieve`, { query: 'whales' })).status).to.equal(200)
  })

  it('that holds git’s lock makes a write answer 503 busy, and nothing has changed', async () => {
    const before = await ann.get(node.at)
    await writeFile(join(node.git.dir, 'refs/heads/main.lock'), '')
    const answer = await ann.post(`${node.at}/tree/main/commits`, commitOf('Waits'))
    expect({ status: answer.status, code: answer.body.code }).to.deep.equal({ status: 503, code: 'busy' })
    expect(Number(answer.headers['retry-after'])).to.be.greaterThan(0)
    expect(await ann.get(node.at)).to.deep.equal(before)
    await rm(join(node.git.dir, 'refs/heads/main.lock'))
    expect((await ann.post(`${node.at}/tree/main/commits`, commitOf('Waits'))).status).to.equal(201)
    await expectSound(grove.dataDir)
  })

  it('that moves a ref is noticed when the node is next read', async () => {
    const head = node.git.commit({ files: { 'content.md': 'By hand' }, parents: [node.git.head()], message: 'By hand' })
    node.git.point('main', head)
    expect((await ann.get(node.at)).body).to.include({ head, text_content: 'By hand' })
    node.git.point('new', head)
    expect(
      (await ann.get(`${node.at}/branches`)).body.branches.map(({ name }: { name: string }) => name),
    ).to.deep.equal(['main', 'new'])
    node.git.say('tag', 'v1', 'new')
    expect((await ann.get(`${node.at}/tags`)).body.tags).to.have.length(1)
  })

  it('that moves the ledger is noticed when the node is next read', async () => {
    await node.proposal('dolphins')
    await node.open('dolphins')
    node.git.say('update-ref', 'refs/grove/ledger', closedLedger(node))
    expect(await node.pull(1)).to.include({ status: 'closed', closed_by: 'Somebody' })
  })

  it('that takes a repository away makes its node 404', async () => {
    await rename(node.git.dir, join(grove.dataDir, 'taken-away'))
    for (const path of ['', '/branches', '/tree/main/commits', '/pull-requests'])
      expect((await ann.get(node.at + path)).body.code).to.equal('node_not_found')
    expect((await ann.post(`${node.at}/tree/main/commits`, commitOf('Nowhere'))).body.code).to.equal('node_not_found')
    const { nodes } = (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body
    expect(nodes.map(({ id }: { id: string }) => id))
      .to.include(neighbour.id)
      .and.not.include(node.id)
  })

  it('that empties a ref makes its node 503 repo_damaged, until the ref is mended', async () => {
    const head = node.git.head()
    await writeFile(join(node.git.dir, 'refs/heads/main'), '')
    const refused = await Promise.all([
      ann.get(node.at),
      ann.get(`${node.at}/tree/main/commits`),
      ann.post(`${node.at}/tree/main/commits`, commitOf('On nothing')),
    ])
    expect(refused.map(({ status, body }) => [status, body.code])).to.deep.equal(Array(3).fill([503, 'repo_damaged']))
    expect(Number(refused[0]?.headers['retry-after'])).to.be.greaterThan(0)
    await writeFile(join(node.git.dir, 'refs/heads/main'), `${head}\n`)
    expect((await ann.get(node.at)).body.head).to.equal(head)
  })
})

describe('SIGTERM', () => {
  it('under 50 writes ends the process with 0, and every write that was answered is there', async () => {
    const dataDir = await newDataDir()
    const grove = await spawnGrove(dataDir)
    try {
      const ann = await signUp(grove, 'Ann')
      const nodes = await times(5, () => newNode({ dataDir }, ann))
      let stopped: Promise<number | null> | undefined
      const write = async (n: number) => {
        const node = nodes[n % nodes.length]
        const answer = await unlessCut(ann.post(`${node?.at}/tree/main/commits`, commitOf(`write ${n}`)))
        stopped ??= grove.stop()
        return answer?.status === 201 ? { node, id: answer.body.id } : undefined
      }
      const written = (await times(50, write)).filter((one) => one !== undefined)
      expect(await stopped).to.equal(0)
      expect(grove.output().stderr).to.equal('')
      expect(written).to.not.deep.equal([])
      for (const { node, id } of written) expect(node?.git.log()).to.include(id)
      await expectSound(dataDir)
    } finally {
      await grove.kill()
      await rm(dataDir, { recursive: true, force: true })
    }
  })
})

/** What the clients of a storm were told is done. */
interface Work {
  readonly commits: TestNode
  readonly merges: TestNode
  readonly committed: string[]
  readonly opened: number[]
  readonly merged: number[]
}

async function newWork(grove: { readonly dataDir: string }, ann: PersonClient): Promise<Work> {
  const [commits, merges] = [await newNode(grove, ann), await newNode(grove, ann)]
  return { commits, merges, committed: [], opened: [], merged: [] }
}

interface Storm {
  /** Answers so far. */
  done(): number
  /** Resolves at so many answers. */
  until(answers: number): Promise<void>
  stop(): void
  /** Once every client has stopped, because it should or because its process is gone. @throws Error for an answer that is none of those expected */
  readonly ended: Promise<void>
}

/** Six clients, three of whom commit to one branch, and three open requests and merge them into another. */
function startStorm(doors: readonly SpawnedGrove[], ann: PersonClient, work: Work, round: number): Storm {
  let done = 0
  let stopping = false
  const waiting: { at: number; go: () => void }[] = []
  const answered = async (asking: Promise<Answer>): Promise<Answer | undefined> => {
    const answer = await unlessCut(asking)
    if (answer && ![200, 201, 409].includes(answer.status))
      throw new Error(`The storm was answered ${answer.status} ${JSON.stringify(answer.body)}`)
    if (answer) done++
    for (const { at, go } of waiting) if (done >= at) go()
    return answer
  }
  const commit = async (person: Client, name: string): Promise<boolean> => {
    const answer = await answered(person.post(`${work.commits.at}/tree/main/commits`, commitOf(name)))
    if (answer?.status === 201) work.committed.push(answer.body.id)
    return answer !== undefined
  }
  const propose = async (person: Client, name: string): Promise<boolean> => {
    const { at } = work.merges
    if (!(await answered(person.post(`${at}/branches`, { name })))) return false
    if (!(await answered(person.post(`${at}/tree/${name}/commits`, commitOf(name))))) return false
    const opened = await answered(person.post(`${at}/pull-requests`, { source_branch: name, title: name }))
    if (!opened) return false
    const { number } = created(opened).pr
    work.opened.push(number)
    for (;;) {
      const merged = await answered(person.post(`${at}/pull-requests/${number}/merge`, {}))
      if (merged?.status === 200) work.merged.push(number)
      if (merged?.status !== 409) return merged !== undefined
      if (!(await answered(person.post(`${at}/pull-requests/${number}/update-branch`)))) return false
    }
  }
  const ended = times(6, async (n) => {
    const door = doors[n % doors.length]
    if (!door) return
    const person = client(door, ann.session.accessToken)
    const step = n < 3 ? commit : propose
    for (let turn = 0; !stopping; turn++) if (!(await step(person, `r${round}-${n}-${turn}`))) return
  }).then(() => undefined)
  return {
    done: () => done,
    until: (at) => Promise.race([new Promise<void>((go) => waiting.push({ at, go })), ended]),
    stop: () => {
      stopping = true
    },
    ended,
  }
}

/** The answer, or undefined where the process was gone before there was one. */
async function unlessCut(asking: Promise<Answer>): Promise<Answer | undefined> {
  return asking.catch((error: unknown) => {
    if (error instanceof TypeError) return undefined
    throw error
  })
}

/** Git and the service agree that everything acknowledged is there, once. */
async function expectKept(person: Client, { commits, merges, committed, opened, merged }: Work): Promise<void> {
  const history = await gitLines(commits.git.dir, 'rev-list', 'main')
  expect(committed.filter((oid) => !history.includes(oid))).to.deep.equal([])
  expect((await person.get(`${commits.at}/tree/main/commits`)).body.total).to.equal(history.length)

  const all: Answer['body'][] = []
  for (let total = 1; all.length < total; ) {
    const page = (await person.get(`${merges.at}/pull-requests?status=all&limit=200&offset=${all.length}`)).body
    all.push(...page.pull_requests)
    total = page.total
  }
  expect(all.map(({ number }) => number).reverse()).to.deep.equal(all.map((_, n) => n + 1))
  expect(all.filter(({ status }) => status === 'closed')).to.deep.equal([])
  const mergedThere = all.filter(({ status }) => status === 'merged')
  expect(opened.filter((number) => number > all.length)).to.deep.equal([])
  expect(merged.filter((number) => !mergedThere.some((pull) => pull.number === number))).to.deep.equal([])
  const main = await gitLines(merges.git.dir, 'rev-list', 'main')
  expect(mergedThere.filter((pull) => !main.includes(pull.source_commit))).to.deep.equal([])
  const unmerged = all.filter(({ status, source_commit }) => status === 'open' && main.includes(source_commit))
  expect(unmerged.filter(({ commits_ahead }) => commits_ahead > 0)).to.deep.equal([])
  const events = await gitLines(merges.git.dir, 'log', '--format=%s', 'refs/grove/ledger')
  expect(events.filter((event, at) => events.indexOf(event) !== at)).to.deep.equal([])
}

/** What the service says of it, the search included. */
async function readWork(person: Client, { commits, merges }: Work): Promise<Answer[]> {
  const pages = ['', '/branches?limit=200', '/tree/main/commits?limit=200', '/pull-requests?status=all&limit=200']
  const paths = [commits, merges].flatMap(({ at }) => pages.map((page) => at + page))
  const answers = await times(paths.length, (n) => person.get(paths[n] ?? ''))
  const org = `/orgs/${commits.org}`
  const search = await person.post(`${org}/search/retrieve`, { query: 'whales', expansion_depth: 'deep' })
  return [...answers, search, await person.get(`${org}/nodes`)]
}

/** Ref to new value; null deletes. In the order in which they are made. */
type Moves = Readonly<Record<string, string | null>>

interface Left {
  readonly process?: string
  readonly note?: string
  readonly moves?: Moves
  /** How many of the moves it had made. */
  readonly made?: number
  /** Default: what moves. */
  readonly locks?: readonly string[]
  /** What a power cut took besides: nothing, what was in the files that nobody reads again, or the whole folder. */
  readonly lost?: 'values' | 'folder'
}

let transactions = 0

/** What a process leaves that dies in a transaction of the refs of `repo`, as gitstore/ref-transaction.ts writes it. */
async function leaveTransaction({ dataDir }: Grove, repo: string, left: Left): Promise<void> {
  const { process = randomUUID(), note = '', moves = {}, made = 0, locks = Object.keys(moves), lost } = left
  const transaction = String(++transactions)
  const folder = join(dataDir, 'run', process, transaction)
  const paths = locks.map((ref) => join(repo, `${ref}.lock`)).sort()
  await mkdir(folder, { recursive: true })
  const intent = { note, locks: paths.map((path) => relative(dataDir, path)) }
  await writeFile(join(folder, 'token'), `grove ${process}/${transaction}\n${JSON.stringify(intent)}\n`)
  for (const path of paths) {
    await mkdir(join(path, '..'), { recursive: true })
    await link(join(folder, 'token'), path)
  }
  if (lost === 'folder') await rm(folder, { recursive: true })
  if (lost === 'folder' || Object.keys(moves).length === 0) return
  for (const [at, [ref, to]] of Object.entries(moves).entries()) {
    if (at < made) await writeFile(join(repo, ref), `${to ?? ''}\n`)
    else if (to) await writeFile(join(folder, String(at)), lost === 'values' ? '' : `${to}\n`)
  }
  const plans = Object.entries(moves).map(([ref, to]) => ({ dir: relative(dataDir, repo), ref, to }))
  await writeFile(join(folder, 'moves.json'), JSON.stringify(plans))
}

function ledgerOf(node: TestNode): string[] {
  return node.git.lines('log', '--format=%s', 'refs/grove/ledger')
}

/** The ledger's next commit, in which request 1 is merged by somebody. */
function mergedLedger(node: TestNode): string {
  return nextLedger(node, 'merge 1', 'merged')
}

function closedLedger(node: TestNode): string {
  return nextLedger(node, 'close 1', 'closed')
}

function nextLedger({ git }: TestNode, message: string, status: string): string {
  const path = 'pulls/0/0/1.json'
  const by = { name: 'Somebody', email: 'somebody@example.org' }
  const at = new Date().toISOString()
  const record = { ...JSON.parse(git.say('show', `refs/grove/ledger:${path}`)), status, by, at, ended: { by, at } }
  const ledger = git.say('rev-parse', 'refs/grove/ledger')
  return git.commit({ files: { [path]: JSON.stringify(record) }, parents: [ledger], message })
}
