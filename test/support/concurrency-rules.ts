/** Rules that hold under concurrent writes, through one process or several over one data folder. */

import { expect } from 'chai'
import { rulesBesideGit } from './concurrency-beside-git.ts'
import { expectSettled, expectSound, git, gitLines } from './data-folder.ts'
import { commitOf, created, times } from './many.ts'
import { newNode, type TestNode } from './node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from './people.ts'

export { commitOf, created, times }

export interface Doors {
  readonly dataDir: string
  /** One URL for each process. */
  readonly urls: readonly string[]
  close(): Promise<void>
}

/** Commits of each of eight writers to one branch. */
const perWriter = 4

/** Defines the rules as tests. */
export function concurrencyRules(open: () => Promise<Doors>): void {
  let doors: Doors
  let ann: PersonClient

  before(async () => {
    doors = await open()
    ann = await signUp({ url: doors.urls[0] ?? '' }, 'Ann')
  })
  afterEach(() => expectSettled(doors.dataDir))
  after(async () => {
    try {
      await expectSound(doors.dataDir)
    } finally {
      await doors?.close()
    }
  })

  /** Ann's client for the URL number `n`, modulo their count. */
  const at = (n: number): Client => client({ url: doors.urls[n % doors.urls.length] ?? '' }, ann.session.accessToken)

  it('accepts one of 50 commits with the same expected head and returns the head of the branch to the others', async () => {
    const node = await newNode(doors, ann)
    const root = node.git.head()
    const answers = await times(50, (n) =>
      at(n).post(`${node.at}/tree/main/commits`, { ...commitOf(`take ${n}`), expected_head: root }),
    )
    const winner = answers.find(({ status }) => status === 201)?.body.id
    expect(answers.filter(({ status }) => status !== 201)).to.deep.equal(
      Array(49).fill({
        status: 409,
        body: {
          code: 'head_moved',
          detail: `The branch has moved since you read it (now at ${winner}); nothing was changed`,
          current_head: winner,
        },
      }),
    )
    expect(await gitLines(node.git.dir, 'rev-list', 'main')).to.deep.equal([winner, root])
  })

  it('keeps every commit of eight writers who retry when the head has moved, one after the other', async () => {
    const node = await newNode(doors, ann)
    const root = node.git.head()
    const written = await times(8, async (writer) => {
      const mine: string[] = []
      let expected_head = root
      while (mine.length < perWriter) {
        const content = commitOf(`${writer} writes ${mine.length}`)
        const answer = await at(writer).post(`${node.at}/tree/main/commits`, { ...content, expected_head })
        if (answer.status === 409) expected_head = answer.body.current_head
        else {
          expected_head = created(answer).id
          mine.push(expected_head)
        }
      }
      return mine
    })
    const history = await gitLines(node.git.dir, 'log', '--format=%H %P', 'main')
    const oids = history.map((line) => line.split(' ')[0])
    expect(history).to.deep.equal([...oids.slice(0, -1).map((oid, n) => `${oid} ${oids[n + 1]}`), oids.at(-1)])
    expect([...oids].sort()).to.deep.equal([root, ...written.flat()].sort())
  })

  it('merges a pull request once when 20 clients merge it at the same time, and confirms it to all of them', async () => {
    const node = await newNode(doors, ann)
    const head = await node.proposal('dolphins')
    await node.open('dolphins')
    const answers = await times(20, (n) => at(n).post(`${node.at}/pull-requests/1/merge`, {}))
    expect(answers.map(({ status, body }) => [status, body.pr?.status])).to.deep.equal(Array(20).fill([200, 'merged']))
    expect(await git(node.git.dir, 'rev-parse', 'main')).to.equal(head)
    expect(await gitLines(node.git.dir, 'log', '--format=%s', 'refs/grove/ledger')).to.deep.equal([
      'merge 1',
      'open 1',
      'create',
    ])
  })

  it('numbers 50 pull requests that are opened at the same time from 1 to 50', async () => {
    const node = await newNode(doors, ann)
    await times(50, async (n) => created(await at(n).post(`${node.at}/branches`, { name: `b${n}` })))
    const answers = await times(50, (n) =>
      at(n).post(`${node.at}/pull-requests`, { source_branch: `b${n}`, title: `Request of b${n}` }),
    )
    const opened = answers.map((answer) => created(answer).pr)
    const numbers = opened.map((pr) => pr.number).sort((a, b) => a - b)
    expect(numbers).to.deep.equal(Array.from({ length: 50 }, (_, n) => n + 1))
    for (const door of doors.urls.keys()) {
      const { body } = await at(door).get(`${node.at}/pull-requests`)
      expect(body.total).to.equal(50)
      expect(body.pull_requests).to.deep.equal([...opened].sort((a, b) => b.number - a.number))
    }
  })

  it('leaves every pull request open that is not merged or closed, while branches and pull requests are made', async () => {
    const node = await newNode(doors, ann)
    await times(8, async (writer) => {
      for (let turn = 0; turn < 5; turn++) {
        const name = `w${writer}-${turn}`
        created(await at(writer).post(`${node.at}/branches`, { name }))
        created(await at(writer).post(`${node.at}/pull-requests`, { source_branch: name, title: name }))
        created(await at(writer + 1).post(`${node.at}/tree/${name}/commits`, commitOf(name)))
      }
    })
    const { pull_requests } = (await at(1).get(`${node.at}/pull-requests?status=all`)).body
    expect(pull_requests.map((pull: Answer['body']) => pull.merge_reason)).to.deep.equal(Array(40).fill('mergeable'))
    expect(await gitLines(node.git.dir, 'rev-list', 'refs/grove/ledger')).to.have.lengthOf(41)
  })

  it('makes exactly one of the branches a and a/b, which Git cannot have both', async () => {
    const node = await newNode(doors, ann)
    for (let round = 0; round < 10; round++) {
      const names = [`a${round}`, `a${round}/b`]
      const answers = await Promise.all(names.map((name, n) => at(n).post(`${node.at}/branches`, { name })))
      expect(answers.map(({ status, body }) => body.code ?? status).sort()).to.deep.equal([201, 'branch_name_taken'])
      const won = names[answers.findIndex(({ status }) => status === 201)]
      for (const door of doors.urls.keys()) {
        const { body } = await at(door).get(`${node.at}/branches`)
        expect(
          body.branches.map(({ name }: { name: string }) => name).filter((name: string) => names.includes(name)),
        ).to.deep.equal([won])
      }
    }
  })

  it('refuses one of two commits on two nodes that would close a cycle together', async () => {
    for (let round = 0; round < 10; round++) {
      const [one, other] = [await newNode(doors, ann), await newNode(doors, ann)]
      const below = (node: TestNode, parent: TestNode, door: number) =>
        at(door).post(`${node.at}/tree/main/commits`, commitOf('below', `parents/${parent.id}.json`, '{}'))
      const answers = await Promise.all([below(one, other, round), below(other, one, round + 1)])
      expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 422])
      const refused = answers[0]?.status === 422 ? one : other
      expect(refused.git.log()).to.have.lengthOf(1)
    }
  })

  rulesBesideGit(() => ({ doors, ann, at }))

  it('gives the same successor to a refresh token that is sent twice at the same time', async () => {
    const { session } = await signUp({ url: doors.urls[0] ?? '' }, 'Twice')
    const { refreshToken } = session
    const answers = await times(2, (n) => at(n).post('/auth/refresh', { refreshToken }))
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200])
    const [one, other] = answers.map(({ body }) => body.refreshToken)
    expect(one).to.equal(other).and.not.equal(refreshToken)
    expect((await at(1).post('/auth/refresh', { refreshToken: one })).status).to.equal(200)
  })

  it('shows the graph of an organisation to nobody after it has answered that it is unpublished', async () => {
    await newNode(doors, ann)
    const graph = `/public/orgs/${ann.org}/graph`
    for (let round = 0; round < 3; round++) {
      expect((await at(round).patch(`/orgs/${ann.org}`, { published: true })).status).to.equal(200)
      let unpublished = false
      let stopping = false
      const late: number[] = []
      const early: number[] = []
      const look = async (n: number) => {
        const anybody = client({ url: doors.urls[n % doors.urls.length] ?? '' })
        while (!stopping) {
          const after = unpublished ? late : early
          after.push((await anybody.get(graph)).status)
        }
      }
      const looking = times(8, look)
      const writing = times(4, (n) => at(n).post(`/orgs/${ann.org}/nodes`, { title: 'While it is read' }))
      while (early.length < 16) await anyOf(at(round))
      expect((await at(round).patch(`/orgs/${ann.org}`, { published: false })).status).to.equal(200)
      unpublished = true
      await writing
      while (late.length < 40) await anyOf(at(round))
      stopping = true
      await looking
      expect([...new Set(late)]).to.deep.equal([404])
      expect(early).to.include(200)
    }
  })
}

/** Sends a request, so that other requests get time. */
async function anyOf(someone: Client): Promise<void> {
  await someone.get('/auth/me')
}
