/** The cost of updating a branch on the server is limited. */

import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type ClientRequest, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import { until } from '../support/until.ts'
import { useWorld } from '../support/world.ts'

const lines = (...changed: [line: number, text: string][]) =>
  Array.from({ length: 40 }, (_, n) => changed.find(([line]) => line === n)?.[1] ?? `line ${n}`).join('\n')

describe('updating a branch', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode

  beforeEach(async () => {
    node = await newNode(grove, ann)
    await node.commit('main', { 'both.txt': lines() })
  })

  /** A branch from main of commits that each write a file, and a request that has diverged. */
  async function diverged(count: number, fileOf: (n: number) => [path: string, text: string]): Promise<string> {
    const from = node.git.head()
    const commits = Array.from({ length: count }, (_, n) => {
      const [path, text] = fileOf(n)
      const head = `commit refs/heads/work\ncommitter A <a@x.org> 1700000000 +0000\ndata 1\n${n % 10}\n`
      return `${head}${n === 0 ? `from ${from}\n` : ''}M 100644 inline ${path}\ndata ${text.length}\n${text}\n`
    })
    node.git.run(['fast-import', '--quiet'], { input: commits.join('') })
    await node.commit('main', { 'both.txt': lines([30, 'by main']) })
    await node.open('work')
    return node.git.head('work')
  }

  it.deep('rebases 250 commits', async () => {
    await diverged(250, (n) => [`files/${n % 20}.txt`, `${n}`])
    const { pr } = (await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))).body
    expect(pr).to.include({ commits_ahead: 250, commits_behind: 0, merge_reason: 'mergeable' })
    expect(node.git.say('show', 'work:both.txt')).to.equal(lines([30, 'by main']))
    expect(node.git.say('show', 'work:files/9.txt')).to.equal('249')
    node.git.fsck()
  })

  it.deep('refuses more, and says what to do', async () => {
    const source = await diverged(251, (n) => [`files/${n % 20}.txt`, `${n}`])
    expect(await ann.post(`${node.at}/pull-requests/1/update-branch`)).to.deep.equal({
      status: 409,
      body: {
        code: 'too_many_commits',
        detail: 'The pull request has 251 commits; the service can rebase at most 250. Rebase with Git and push',
      },
    })
    expect(node.git.head('work')).to.equal(source)
  })

  it('merges by git what both sides changed, between commits that it merges itself', async () => {
    await diverged(6, (n) =>
      n % 2 ? [`files/${n}.txt`, `${n}`] : ['both.txt', lines([n, `by commit ${n}`], [n - 2, `by commit ${n - 2}`])],
    )
    const { pr } = (await ann.post(`${node.at}/pull-requests/1/update-branch`).then(expecting(200))).body
    expect(pr).to.include({ commits_ahead: 6, merge_reason: 'mergeable' })
    const both = lines([4, 'by commit 4'], [2, 'by commit 2'], [30, 'by main'])
    expect(node.git.say('show', 'work:both.txt')).to.equal(both)
    expect(node.git.lines('ls-tree', '--name-only', 'work', 'files/')).to.have.length(3)
    node.git.fsck()
  })

  /** Another tool's connection, which may be ended at any time. */
  function ask(): ClientRequest {
    const { hostname, port } = new URL(grove.url)
    const authorization = `Bearer ${ann.session.accessToken}`
    const path = `${node.at}/pull-requests/1/update-branch`
    const asking = request({ hostname, port, path, method: 'POST', headers: { authorization } })
    asking.on('error', () => {}).end()
    return asking
  }

  const quarantined = () => readdirSync(node.git.dir).some((name) => name.startsWith('quarantine-'))
  const hardToMerge = (n: number): [string, string] => ['both.txt', lines([n % 10, `by commit ${n}`])]

  it('stops, and moves nothing, once the caller has hung up', async () => {
    const source = await diverged(120, hardToMerge)
    const asking = ask()
    await until(quarantined)
    asking.destroy()
    await until(() => !quarantined())
    // Nothing tells when the request ends, because nobody gets its answer.
    await sleep(300)
    expect(node.git.head('work')).to.equal(source)
    expect(await node.pull(1)).to.include({ source_commit: source, merge_reason: 'diverged' })
  })

  it.deep('is done once at a time for one person: eight more wait, and another is told to come again', async () => {
    await diverged(250, hardToMerge)
    const asked = Array.from({ length: 10 }, ask)
    const first = await Promise.race(asked.map((asking) => once(asking, 'response')))
    expect(first[0].statusCode).to.equal(503)
    for (const asking of asked) asking.destroy()
    await until(() => !quarantined())
  })
})
