/** Files of checks that were edited by hand: rows, answers and rebuilds, compared with a second reader of the files. */

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { toChecks } from '../../server/domain/consent/check-views.ts'
import { checksAt } from '../../server/domain/ledger/checks.ts'
import { cli } from '../operator/desk.ts'
import type { Git } from '../support/git.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client } from '../support/people.ts'
import { ann, aProposal, bob, cy, grove, nodes, type Proposal, useScene } from './scene.ts'

const ledger = 'refs/grove/ledger'
const pathOf = (commit: string) => `checks/${commit.slice(0, 2)}/${commit.slice(2)}.json`

const valid = (more: object = {}) => ({
  state: 'success',
  by: { id: bob.user.id, name: 'Bob', email: 'bob@example.org' },
  at: '2026-01-01T00:00:00.000Z',
  ...more,
})

function write({ git }: Proposal['node'], files: Record<string, string | null>): void {
  const parents = [git.say('rev-parse', ledger)]
  git.say('update-ref', ledger, git.commit({ files, parents, message: 'by hand' }))
}

describe('files of checks that were edited by hand', () => {
  useScene({ logLevel: 'error' })

  const at = ({ node }: Proposal, commit: string, name?: string) =>
    `${node.at}/checks/${commit}${name === undefined ? '' : `/${name}`}`
  const read = async (proposal: Proposal, commit = proposal.head) =>
    (await cy.get(at(proposal, commit)).then(expecting(200))).body
  const report = (proposal: Proposal, name: string, state = 'success') =>
    bob.put(at(proposal, proposal.head, name), { state }).then(expecting(200))
  const fileOf = ({ node, head }: Proposal) => JSON.parse(node.git.say('show', `${ledger}:${pathOf(head)}`))

  it('are shown and logged as damaged, block nothing, and are mended by the next report', async () => {
    const proposal = await aProposal()
    await report(proposal, 'links')
    for (const text of ['', '{', '[]', '"x"', `{"commit": "${proposal.base}", "checks": {}}`, '{"checks": {}}']) {
      write(proposal.node, { [pathOf(proposal.head)]: text })
      expect(await read(proposal), text).to.deep.include({ checks: [], is_damaged: true })
    }
    const facts = `"count":1,"damaged":["${pathOf(proposal.head)}"],"msg":"files of the ledger are not checks of commits"`
    expect(grove.logged()).to.include(`"nodeId":"${proposal.node.id}",${facts}`)
    const { stdout } = await cli(grove.dataDir, 'doctor')
    expect(stdout).to.include(`${pathOf(proposal.head)} of ${ledger} has something that is not a check`)
    await report(proposal, 'spelling')
    expect((await read(proposal)).is_damaged).to.equal(false)
    expect(Object.keys(fileOf(proposal).checks)).to.deep.equal(['spelling'])
    write(proposal.node, { [pathOf(proposal.head)]: '' })
    await ann.post(`${proposal.path}/merge`).then(expecting(200))
    expect(await read(proposal)).to.deep.include({ checks: [], is_damaged: true })
  })

  it('keep what a later version wrote, which is shown as unknown and is no success', async () => {
    const proposal = await aProposal()
    const { head } = proposal
    const checks = {
      links: valid({ details: [1] }),
      later: { ...valid({ state: 'skipped' }), why: 'x' },
      'a:b': valid(),
      damaged: { state: 'success' },
      script: valid({ url: 'javascript:alert(1)' }),
    }
    write(proposal.node, { [pathOf(head)]: JSON.stringify({ commit: head, checks, later: { a: 1 } }) })
    const shown = async () => {
      const { checks: list, is_damaged } = await read(proposal)
      return [...list.map((one: Record<string, string>) => `${one.name} ${one.state}`), is_damaged]
    }
    expect(await shown()).to.deep.equal(['damaged damaged', 'later unknown', 'links success', 'script damaged', true])
    await report(proposal, 'new')
    const { new: added, ...before } = fileOf(proposal).checks
    expect([before, fileOf(proposal).later, added.state]).to.deep.equal([checks, { a: 1 }, 'success'])
    for (const name of ['damaged', 'script', 'later']) await report(proposal, name)
    expect(await shown()).to.deep.equal([
      ...['damaged success', 'later success', 'links success', 'new success', 'script success'],
      true,
    ])
    expect(fileOf(proposal).checks.links.details).to.deep.equal([1])
  })

  it('may be a folder, a submodule or gone, and others are not read', async () => {
    const proposal = await aProposal()
    const { head, node } = proposal
    await report(proposal, 'links')
    const parents = () => [node.git.say('rev-parse', ledger)]
    const file = JSON.stringify({ commit: head, checks: { links: valid() } })
    const states = [
      { [pathOf(head)]: { mode: '160000', oid: head } },
      { [pathOf(head)]: null, [`${pathOf(head)}/x`]: file },
      { [`${pathOf(head)}/x`]: null, [`checks/${head}.json`]: file, [`checks/${head.slice(0, 2)}/x.json`]: file },
    ]
    for (const files of states) {
      node.git.say('update-ref', ledger, node.git.commit({ files, parents: parents(), message: 'by hand' }))
      expect(await read(proposal)).to.deep.include({ checks: [], is_damaged: false })
    }
    await report(proposal, 'links')
    expect((await read(proposal)).checks).to.have.length(1)
  })

  const texts: fc.Arbitrary<(commit: string) => string> = fc
    .array(fc.tuple(fc.constantFrom('links', 'a/b', '__proto__', '10', '9', 'é', 'a:b', ''), fc.nat(9)), {
      maxLength: 5,
    })
    .chain((named) => fc.nat(9).map((shape) => (commit: string) => textOf(commit, named, shape)))
  const edits = fc.array(fc.tuple(fc.nat(3), fc.option(texts)), { minLength: 1, maxLength: 6 })

  it('give the rows and answers that a second reader finds, also after a rebuild and a move back', async () => {
    const property = fc.asyncProperty(edits, fc.nat(5), async (chosen, back) => {
      const proposal = await aProposal()
      const { node, head, base } = proposal
      const commits = [head, base, '1'.repeat(40), 'ab'.repeat(20)]
      const tips = [node.git.say('rev-parse', ledger)]
      for (const [n, text] of chosen) {
        const commit = commits[n] ?? head
        const before = node.git.lines('ls-tree', ledger, '--', pathOf(commit))
        if (text === null && before.length === 0) continue
        write(node, { [pathOf(commit)]: text === null ? null : text(commit) })
        await compare(proposal)
        tips.push(node.git.say('rev-parse', ledger))
      }
      node.git.say('update-ref', ledger, tips[back % tips.length] ?? '')
      await compare(proposal)
    })
    await fc.assert(property, { numRuns: 12, endOnFailure: true, includeErrorInReport: true })
    const rows = () => nodes.map(({ id }) => rowsOf(id))
    const before = rows()
    expect((await cli(grove.dataDir, 'reindex')).code).to.equal(0)
    for (const { at } of nodes) await ann.get(at).then(expecting(200))
    expect(rows()).to.deep.equal(before)
  })

  it('are indexed in slices if they are many, and forgotten so', async () => {
    const proposal = await aProposal()
    const { node } = proposal
    const tip = node.git.say('rev-parse', ledger)
    const commitOf = (n: number) => n.toString(16).padStart(40, '0')
    const files = Array.from({ length: 180 }, (_, n) => {
      const text = JSON.stringify({
        commit: commitOf(n),
        checks: { links: valid(), spelling: valid({ state: 'failure' }) },
      })
      return `M 100644 inline ${pathOf(commitOf(n))}\ndata ${text.length}\n${text}\n`
    })
    const head = `commit ${ledger}\ncommitter Ann <ann@example.org> 1700000000 +0000\ndata 7\nby hand\nfrom ${ledger}^0\n`
    node.git.run(['fast-import', '--quiet'], { input: head + files.join('') })
    await compare(proposal)
    expect(rowsOf(node.id)).to.have.length(360)
    expect((await read(proposal, commitOf(179))).checks).to.have.length(2)
    node.git.say('update-ref', ledger, tip)
    await compare(proposal)
    expect(rowsOf(node.id)).to.deep.equal([])
  })

  it('are the same answers, byte for byte, when the index was deleted', async () => {
    const proposal = await aProposal()
    for (const name of ['links', 'spelling', 'a/b']) await report(proposal, encodeURIComponent(name), 'failure')
    const bytes = async (on = grove) => {
      const token = ann.session.accessToken
      const answer = await fetch(on.url + at(proposal, proposal.head), {
        headers: { authorization: `Bearer ${token}` },
      })
      return [await answer.text(), answer.headers.get('etag')]
    }
    const before = await bytes()
    await grove.deps.index.write(async (trx) => void (await trx.deleteFrom('org').execute()))
    expect(await bytes()).to.deep.equal(before)
    const backup = join(grove.dataDir, '..', `checks-backup-${process.pid}`)
    const target = `${backup}-restored`
    try {
      expect((await cli(grove.dataDir, 'backup', backup)).code).to.equal(0)
      expect((await cli(target, 'restore', backup)).code).to.equal(0)
      const other = await startGrove({ dataDir: target })
      try {
        const { body } = await client(other).post('/auth/login', {
          email: 'ann@example.org',
          password: 'correct horse battery',
        })
        const answer = await client(other, body.accessToken).get(at(proposal, proposal.head)).then(expecting(200))
        expect(answer.body).to.deep.equal(JSON.parse(before[0] ?? ''))
      } finally {
        await other.close()
      }
    } finally {
      for (const folder of [backup, target]) await rm(folder, { recursive: true, force: true })
    }
  })
})

/** The text of a file with these checks. @param shape what is wrong with the file, if anything */
function textOf(commit: string, named: readonly (readonly [string, number])[], shape: number): string {
  const checks = Object.fromEntries(
    named.map(([name, kind]) => {
      const { at: _, ...undated } = valid()
      const kinds = [
        valid(),
        valid({ state: 'failure', description: '“é” 🐋\n' }),
        valid({ state: 'later' }),
        null,
        undated,
      ]
      kinds.push(valid({ url: 'https://x/?a#b' }), valid({ url: 'data:text/html,x' }), valid({ at: 'now' }), [
        valid(),
      ] as never)
      return [name, kinds[kind] ?? valid({ state: 7 })]
    }),
  )
  const file = { commit, checks, more: [[null]] }
  const shapes = ['{', JSON.stringify({ ...file, checks: [] }), JSON.stringify({ ...file, commit: 'x' })]
  shapes.push(`${JSON.stringify(file)}${' '.repeat(1_048_576)}`)
  shapes.push(JSON.stringify(file).replace('[[null]]', `${'['.repeat(101)}${']'.repeat(101)}`))
  return shapes[shape] ?? JSON.stringify(file)
}

/** Compares rows, and what is read under the lock, with a second reader. */
async function compare({ node }: Proposal): Promise<void> {
  await ann.get(node.at).then(expecting(200))
  const expected = secondReading(node.git)
  expect(rowsOf(node.id)).to.deep.equal(expected)
  const tip = node.git.say('rev-parse', ledger)
  for (const commit of new Set(expected.map(([one]) => String(one)))) {
    const exact = await checksAt({ dir: node.git.dir }, tip, commit)
    const rows = exact.map((row) => [row.commit_id, row.name, row.state, row.user_id, row.at, row.body])
    expect(rows).to.deep.equal(expected.filter(([one]) => one === commit).map((row) => row.slice(0, 6)))
    const { checks } = (await cy.get(`${node.at}/checks/${commit}`).then(expecting(200))).body
    expect(toChecks(exact)).to.deep.equal(checks)
  }
}

function rowsOf(node: string): unknown[][] {
  const db = openSqlite(join(grove.dataDir, 'index.sqlite'), { readonly: true })
  try {
    const rows =
      'select commit_id, name, state, user_id, at, body, blob from check_state where node_id = ? order by 1, 2'
    return db.prepare<[string], unknown[]>(rows).raw().all(node)
  } finally {
    db.close()
  }
}

/** Reads the files with native git. Knows only their format. */
function secondReading(git: Git): unknown[][] {
  const rows: unknown[][] = []
  for (const line of git.lines('ls-tree', '-r', ledger)) {
    const [, blob = '', first, rest] = /^100644 blob (\w{40})\tchecks\/(..)\/(\w{38})\.json$/.exec(line) ?? []
    if (first === undefined) continue
    const commit = `${first}${rest}`
    const text = git.run(['cat-file', 'blob', blob]).toString()
    const damaged = (name: string) => rows.push([commit, name, 'damaged', null, null, '', blob])
    // biome-ignore lint/suspicious/noExplicitAny: JSON of any shape
    let file: any // each use says what it expects
    try {
      file = JSON.parse(text)
    } catch {}
    const isFile = file?.commit === commit && text.length <= 1_048_576 && !text.includes('['.repeat(100))
    if (!isFile || Array.isArray(file.checks)) {
      damaged('')
      continue
    }
    const names = Object.keys(file.checks).sort()
    const isName = (name: string) => /^[\w ./-]{1,100}$/.test(name)
    if (!names.every(isName)) damaged('')
    for (const name of names.filter(isName)) {
      const one = file.checks[name]
      const isDated = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(one?.at) && typeof one.by?.email === 'string'
      const isLinked = one?.url === undefined || one.url.startsWith('https://')
      if (['success', 'failure', 'pending'].includes(one?.state) && isDated && isLinked)
        rows.push([commit, name, one.state, one.by.id, one.at, JSON.stringify(one), blob])
      else if (one?.state === 'later') rows.push([commit, name, 'unknown', null, null, JSON.stringify(one), blob])
      else damaged(name)
    }
  }
  return rows.sort(([a, b], [c, d]) => (`${a} ${b}` < `${c} ${d}` ? -1 : 1))
}
