/** The next process indexes what a dead one has written. It looks only where the tokens say. */

import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { expect } from 'chai'
import { newDataDir, transactionsIn } from '../support/data-folder.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { until } from '../support/until.ts'

describe('a process that was killed between its refs and the index', () => {
  let dataDir: string
  let grove: Grove
  let ann: PersonClient

  beforeEach(async () => {
    dataDir = await newDataDir()
    grove = await startGrove({ dataDir, sweeps: false })
    ann = await signUp(grove, 'Ann')
  })
  afterEach(async () => {
    await grove.close()
    await rm(dataDir, { recursive: true, force: true })
  })

  it('has its commits in every list when the service listens; what no token names is not looked at', async () => {
    const [named, other] = [await newNode(grove, ann), await newNode(grove, ann)]
    await grove.close()
    for (const node of [named, other]) commitByHand(node, 'By a dead process')
    const home = await leaveToken({ locks: [join(named.git.dir, 'refs/heads/main.lock')] })
    await restart()
    expect(await titles()).to.deep.equal({ [named.id]: 'By a dead process', [other.id]: 'Whales' })
    expect(existsSync(home)).to.equal(false)
  })

  it('has its new nodes in every list, and its deleted ones in none', async () => {
    const [made, gone, other] = [await newNode(grove, ann), await newNode(grove, ann), await newNode(grove, ann)]
    await grove.close()
    const [hidden, trash] = [join(dataDir, 'hidden'), join(dataDir, 'taken')]
    await rename(made.git.dir, hidden)
    await leaveToken({ note: `${ann.org}/${made.id}` })
    await restart()
    expect(Object.keys(await titles())).to.have.members([gone.id, other.id])
    await grove.close()
    await rename(hidden, made.git.dir)
    await rename(gone.git.dir, trash)
    await leaveToken({ note: `${ann.org}/${made.id},${gone.id}` })
    await restart()
    expect(Object.keys(await titles())).to.have.members([made.id, other.id])
  })

  it('is done with where the repository is damaged, and says so once', async () => {
    const node = await newNode(grove, ann)
    await grove.close()
    await writeFile(join(node.git.dir, 'refs/grove/ledger'), 'What nobody can mend\n').catch(() => mkdirLedger(node))
    const home = await leaveToken({ locks: [join(node.git.dir, 'refs/heads/main.lock')] })
    await restart('error')
    expect(grove.logged().match(/a repository that a dead process has changed cannot be read/g)).to.have.length(1)
    expect(existsSync(home)).to.equal(false)
  })

  it('has no folder of a transaction of change sets that the index has', async () => {
    const node = await newNode(grove, ann)
    const body = { title: 'Sing', nodes: [{ id: node.id, tags: ['sea'] }, { title: 'Krill' }] }
    await ann.post(`/orgs/${ann.org}/change-sets`, body).then(expecting(201))
    await until(async () => (await transactionsIn(dataDir)).length === 0)
    await ann.post(`/orgs/${ann.org}/change-sets/1/merge`).then(expecting(200))
    await until(async () => (await transactionsIn(dataDir)).length === 0)
  })

  async function restart(logLevel?: 'error'): Promise<void> {
    grove = await startGrove({ dataDir, sweeps: false, ...(logLevel === undefined ? {} : { logLevel }) })
    ann = { ...ann, ...client(grove, ann.session.accessToken) }
  }

  async function titles(): Promise<Record<string, string>> {
    const { nodes } = (await ann.get(`/orgs/${ann.org}/nodes?limit=200`)).body
    return Object.fromEntries(nodes.map(({ id, title }: { id: string; title: string }) => [id, title]))
  }

  /** The folder of a process that died with one token; its locks, if it held them, are released. */
  async function leaveToken({ note = '', locks = [] }: { note?: string; locks?: readonly string[] }): Promise<string> {
    const process = randomUUID()
    const home = join(dataDir, 'run', process)
    await mkdir(join(home, '1'), { recursive: true })
    const intent = { note, locks: locks.map((path) => relative(dataDir, path)) }
    await writeFile(join(home, '1', 'token'), `grove ${process}/1\n${JSON.stringify(intent)}\n`)
    return home
  }
})

function commitByHand({ git }: TestNode, title: string): void {
  const files = { 'node.json': JSON.stringify({ title }) }
  git.point('main', git.commit({ files, parents: [git.head()], message: title }))
}

async function mkdirLedger({ git }: TestNode): Promise<void> {
  await mkdir(join(git.dir, 'refs/grove'), { recursive: true })
  await writeFile(join(git.dir, 'refs/grove/ledger'), 'What nobody can mend\n')
}
