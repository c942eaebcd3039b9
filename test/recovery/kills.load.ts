/** The data after a process was killed or asked to end under load. */

import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { commitOf, created, times } from '../support/concurrency-rules.ts'
import { expectSound, gitLines, newDataDir } from '../support/data-folder.ts'
import { Unanswered } from '../support/exchange.ts'
import { startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Answer, type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { chance } from '../support/seed.ts'
import { type SpawnedGrove, spawnGrove, untilReady } from '../support/spawned-grove.ts'

describe('a process that is killed', () => {
  it('loses nothing that it has said was done, and the next one finds everything in order', async () => {
    const dataDir = await newDataDir()
    let grove = await spawnGrove(dataDir, { PUBLIC_URL: 'https://grove.example', TRUST_PROXY: 'loopback' })
    try {
      const ann = await signUp(grove, 'Ann')
      const work = await newWork({ dataDir }, ann)
      for (let round = 0; round < 4; round++) {
        const storm = startStorm([grove], ann, work, round)
        await storm.until(15 + Math.floor(chance() * 30))
        await grove.kill()
        await storm.ended
        grove = await spawnGrove(dataDir, { PUBLIC_URL: 'https://grove.example', TRUST_PROXY: 'loopback' })
        await expectKept(client(grove, ann.session.accessToken), work)
        await expectSound(dataDir)
      }
      const before = await readWork(client(grove, ann.session.accessToken), work)
      expect(await grove.stop()).to.equal(0)
      for (const name of await readdir(dataDir)) if (name.startsWith('index.sqlite')) await rm(join(dataDir, name))
      const last = await startGrove({ dataDir, publicUrl: 'https://grove.example' })
      await untilReady(last)
      expect(await readWork(client(last, ann.session.accessToken), work)).to.deep.equal(before)
      await last.close()
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
        await storm.until(15 + Math.floor(chance() * 30))
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
    if (error instanceof Unanswered) return undefined
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

/** The service's answers about it, including the search. */
async function readWork(person: Client, { commits, merges }: Work): Promise<Answer[]> {
  const pages = ['', '/branches?limit=200', '/tree/main/commits?limit=200', '/pull-requests?status=all&limit=200']
  const paths = [commits, merges].flatMap(({ at }) => pages.map((page) => at + page))
  const answers = await times(paths.length, (n) => person.get(paths[n] ?? ''))
  const org = `/orgs/${commits.org}`
  const search = await person.post(`${org}/search/retrieve`, { query: 'whales', expansion_depth: 'deep' })
  return [...answers, search, await person.get(`${org}/nodes`)]
}
