/** The next process completes or undoes a ref transaction that a killed process has left. */

import { randomUUID } from 'node:crypto'
import { link, mkdir, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { commitOf, created, times } from '../support/concurrency-rules.ts'
import { expectSound, locksIn, newDataDir } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { spawnGrove } from '../support/spawned-grove.ts'
import { closedLedger, nextLedger } from './ledgers.ts'

describe('a process that is killed', () => {
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

    it('has done nothing if it had only prepared: the next writer of the branch undoes it', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 0 })
      const commit = created(await ann.post(`${node.at}/tree/main/commits`, commitOf('Another')))
      expect(commit.parent_commits).to.deep.equal([node.git.say('rev-parse', 'main~1')])
      expect((await node.pull(1)).merge_reason).to.equal('diverged')
      expect(ledgerOf(node)).to.deep.equal(['open 1', 'create'])
      await expectSound(grove.dataDir)
    })

    it('has done all of it if the first ref was moved: the next writer of another ref finishes it', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 1 })
      expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Somebody' })
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(merge['refs/grove/ledger'])
      expect((await ann.post(`${node.at}/pull-requests/1/merge`, {})).status).to.equal(200)
      expect(ledgerOf(node)).to.deep.equal(['merge 1', 'open 1', 'create'])
      await expectSound(grove.dataDir)
    })

    it('has done all of it if the first ref was moved, even if a power cut emptied the file of another value', async () => {
      await leaveTransaction(grove, node.git.dir, { moves: merge, made: 1, lost: 'values' })
      expect(await node.pull(1)).to.include({ status: 'merged', merged_by: 'Somebody' })
      expect(node.git.say('rev-parse', 'refs/grove/ledger')).to.equal(merge['refs/grove/ledger'])
      await expectSound(grove.dataDir)
    })

    for (const door of ['REST', 'git'] as const)
      it(`over two pages is finished by a reader of one of them: ${door}`, async () => {
        const other = await newNode(grove, ann)
        const later = other.git.commit({ files: { 'content.md': 'Later' }, parents: [other.git.head()] })
        const also = { repo: other.git.dir, moves: { 'refs/heads/main': later } }
        await leaveTransaction(grove, node.git.dir, { moves: { 'refs/heads/main': source }, made: 1, also })
        if (door === 'git') expect(await refsOf(other)).to.include(`${later} refs/heads/main`)
        else expect((await ann.get(node.at)).body.head).to.equal(source)
        expect((await ann.get(other.at)).body.head).to.equal(later)
        expect((await ann.get(node.at)).body.head).to.equal(source)
        expect(await locksIn(grove.dataDir)).to.deep.equal([])
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

    it.deep('has deleted a branch that was packed, if it had begun to', async () => {
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

    it.deep(
      'is recovered at the start, also if it died while it merged a new parent under the lock of the graph',
      async () => {
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
      },
    )

    it.deep('does not keep the next one from starting if the node that it was changing cannot be read', async () => {
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

    /** The refs that Git's door offers. */
    const refsOf = async ({ org, id }: TestNode) => {
      const url = `${grove.url}/git/${org}/${id}.git/info/refs?service=git-upload-pack`
      return (await fetch(url, { headers: { authorization: `Bearer ${ann.session.accessToken}` } })).text()
    }

    /** Ann at a new process over the same folder. */
    async function restarted(work: (next: Client) => Promise<void>): Promise<void> {
      const next = await spawnGrove(grove.dataDir)
      await work(client(next, ann.session.accessToken)).finally(() => next.stop())
    }
  })
})
/** Ref to new value; null deletes. In the order in which they are made. */
type Moves = Readonly<Record<string, string | null>>

interface Left {
  readonly process?: string
  readonly note?: string
  readonly moves?: Moves
  /** Moves in another repository, which come last. */
  readonly also?: { readonly repo: string; readonly moves: Moves }
  /** How many of the moves it had made. */
  readonly made?: number
  /** Default: what moves. */
  readonly locks?: readonly string[]
  /** The further loss of a power cut: nothing, the content of files that recovery does not read, or the folder. */
  readonly lost?: 'values' | 'folder'
}

let transactions = 0

/** The files of a process that dies in a ref transaction. They are as gitstore/refs/ref-transaction.ts writes them. */
async function leaveTransaction({ dataDir }: Grove, repo: string, left: Left): Promise<void> {
  const { process = randomUUID(), note = '', moves = {}, made = 0, locks = Object.keys(moves), also, lost } = left
  const transaction = String(++transactions)
  const folder = join(dataDir, 'run', process, transaction)
  const all = [{ repo, moves }, ...(also ? [also] : [])].flatMap(({ repo, moves }) =>
    Object.entries(moves).map(([ref, to]) => ({ repo, ref, to })),
  )
  const others = all.filter((move) => move.repo !== repo)
  const paths = [...locks.map((ref) => ({ repo, ref })), ...others]
    .map((name) => join(name.repo, `${name.ref}.lock`))
    .sort()
  await mkdir(folder, { recursive: true })
  const intent = { note, locks: paths.map((path) => relative(dataDir, path)) }
  await writeFile(join(folder, 'token'), `grove ${process}/${transaction}\n${JSON.stringify(intent)}\n`)
  for (const path of paths) {
    await mkdir(join(path, '..'), { recursive: true })
    await link(join(folder, 'token'), path)
  }
  if (lost === 'folder') await rm(folder, { recursive: true })
  if (lost === 'folder' || all.length === 0) return
  for (const [at, { repo, ref, to }] of all.entries()) {
    if (at < made) await writeFile(join(repo, ref), `${to ?? ''}\n`)
    else if (to) await writeFile(join(folder, String(at)), lost === 'values' ? '' : `${to}\n`)
  }
  const plans = all.map(({ repo, ref, to }) => ({ dir: relative(dataDir, repo), ref, to }))
  await writeFile(join(folder, 'moves.json'), JSON.stringify(plans))
}

function ledgerOf(node: TestNode): string[] {
  return node.git.lines('log', '--format=%s', 'refs/grove/ledger')
}

/** The ledger's next commit, in which request 1 is merged by somebody. */
function mergedLedger(node: TestNode): string {
  return nextLedger(node, 'merge 1', 'merged')
}
