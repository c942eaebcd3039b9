/** Undoing a merged pull request, with `git revert` as the oracle. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { environment, type Git } from '../support/git.ts'
import { expecting, newNode, type TestNode } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { aNode, ann, aProposal, bob, grove, leavesCleanRepositories, now, pass, useScene } from './scene.ts'

/** A node whose pull request 1, of `draft.txt` into main, is merged. */
const aMerged = async (more: object = {}) => {
  const made = await aProposal(more)
  await ann.post(`${made.path}/merge`).then(expecting(200))
  return { ...made, undo: (body: object = {}) => ann.post(`${made.path}/undo`, body) }
}

const codeOf = ({ status, body }: Answer) => [status, body.code ?? body.pr?.number]

describe('undoing a pull request', () => {
  useScene()

  it('opens a pull request of one commit that reverts the merged one', async () => {
    const { node, pr, source, target, undo } = await aMerged({ title: 'Dolphins [are] *whales*' })
    const later = await node.commit('main', { 'later.txt': 'later' })
    pass(10)
    const { status, body, headers } = await undo()
    expect(status).to.equal(201)
    const head = node.git.head('undo-1')
    expect(body.pr).to.deep.include({
      number: 2,
      title: 'Undo: Dolphins [are] *whales*',
      description: `This undoes [proposal 1](${node.at}/pull-requests/1).`,
      source_branch: 'undo-1',
      target_branch: 'main',
      source_commit: head,
      target_commit: later,
      status: 'open',
      is_draft: false,
      author: 'Ann',
      created_at: now(),
      can_merge: true,
      merge_reason: 'mergeable',
      commits_ahead: 1,
      commits_behind: 0,
    })
    expect(headers.location).to.equal(`${node.at}/pull-requests/2`)
    expect((await ann.get(headers.location ?? '')).body).to.deep.equal(body)
    expect(node.git.lines('rev-list', '--parents', '-1', 'undo-1')).to.deep.equal([`${head} ${later}`])
    expect(node.git.say('log', '-1', '--format=%an %ae %cn%n%B', head)).to.equal(
      `Ann ann@example.org Ann\n${body.pr.title}\n\nThis reverts the changes of proposal 1, from ${target} to ${source}.`,
    )
    expect(node.git.lines('diff', '--name-status', later, head)).to.deep.equal(['D\tdraft.txt'])
    expect(node.git.head()).to.equal(later)
    expect(await node.pull(1)).to.deep.include({ status: 'merged', source_commit: pr.source_commit })
    await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
    expect(node.git.lines('ls-tree', '--name-only', 'main')).to.deep.equal(['later.txt', 'node.json'])
  })

  it('takes a title and a branch, and by default chooses both', async () => {
    const { node, path, undo } = await aMerged({ title: '🐋'.repeat(500) })
    await node.branch('undo-1')
    await node.branch('undo-1-2/x')
    const { pr } = (await undo().then(expecting(201))).body
    expect(pr.source_branch).to.equal('undo-1-3')
    expect(pr.title).to.equal(`Undo: ${'🐋'.repeat(493)}…`)
    const own = (await undo({ title: 'Not so', source_branch: 'my/undo' }).then(expecting(201))).body.pr
    expect(own).to.include({ title: 'Not so', source_branch: 'my/undo', number: 3 })
    const refs = node.git.say('for-each-ref')
    for (const [branch, code] of [
      ['main', 'branch_exists'],
      ['draft', 'branch_exists'],
      ['draft/x', 'branch_name_taken'],
      ['my', 'branch_name_taken'],
    ])
      expect(codeOf(await undo({ source_branch: branch })), branch).to.deep.equal([409, code])
    for (const [body, field] of [
      [{ source_branch: 'a b' }, 'source_branch'],
      [{ source_branch: '' }, 'source_branch'],
      [{ title: ' ' }, 'title'],
      [{ title: 'x'.repeat(501) }, 'title'],
      [{ branch: 'x' }, 'branch'],
    ] as const) {
      const answer = await ann.post(`${path}/undo`, body)
      expect([answer.status, answer.body.detail[0].loc]).to.deep.equal([422, ['body', field]])
    }
    expect(node.git.say('for-each-ref')).to.equal(refs)
  })

  it('is opened once, also by two who ask at once, and again after that one ended', async () => {
    const { node, path, undo } = await aMerged()
    const answers = await Promise.all([undo(), bob.post(`${path}/undo`), undo(), undo()])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 409, 409, 409])
    for (const { status, body } of answers)
      if (status === 409) expect(body).to.include({ code: 'pull_request_exists', number: 2 })
    expect(node.git.lines('for-each-ref', '--format=%(refname:short)', 'refs/heads/undo*')).to.deep.equal(['undo-1'])
    await node.commit('main', { 'later.txt': 'later' })
    expect((await undo()).body).to.deep.equal({
      code: 'pull_request_exists',
      detail: 'Pull request 2 is already open to undo pull request 1',
      number: 2,
    })
    await ann.patch(`${node.at}/pull-requests/2`, { status: 'closed' }).then(expecting(200))
    const second = (await undo().then(expecting(201))).body.pr
    expect(second).to.include({ number: 3, source_branch: 'undo-1-2' })
    await ann.post(`${node.at}/pull-requests/3/merge`).then(expecting(200))
    expect(codeOf(await undo())).to.deep.equal([409, 'no_changes'])
    const named = await undo({ source_branch: 'again' })
    expect(codeOf(named)).to.deep.equal([409, 'no_changes'])
    expect(() => node.git.head('again')).to.throw()
  })

  it('of a named branch is opened once for that branch', async () => {
    const { undo } = await aMerged()
    expect(codeOf(await undo({ source_branch: 'back' }))).to.deep.equal([201, 2])
    expect((await undo({ source_branch: 'back' })).body).to.include({ code: 'pull_request_exists', number: 2 })
  })

  it('can be undone: the first change is back', async () => {
    const { node, undo } = await aMerged()
    await undo().then(expecting(201))
    await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
    const merged = node.git.say('rev-parse', 'main~^{tree}')
    const { pr } = (await ann.post(`${node.at}/pull-requests/2/undo`).then(expecting(201))).body
    expect(pr).to.include({ number: 3, source_branch: 'undo-2', title: 'Undo: Undo: Merge draft' })
    expect(node.git.say('rev-parse', 'undo-2^{tree}')).to.equal(merged)
  })

  it('names the paths that changed since, and changes nothing', async () => {
    const { node, undo } = await aMerged()
    await node.commit('main', { 'draft.txt': 'draft\nand more\n' })
    const refs = node.git.say('for-each-ref')
    expect(await undo()).to.deep.include({
      status: 409,
      body: {
        code: 'merge_conflict',
        detail: 'Later commits changed the same paths; nothing was changed',
        paths: ['draft.txt'],
      },
    })
    expect(node.git.say('for-each-ref')).to.equal(refs)
  })

  it('needs a merged pull request, and its target', async () => {
    const node = await aNode()
    await node.branch('release/1')
    await node.proposal('draft')
    await node.open('draft', { target_branch: 'release/1' })
    const undo = () => ann.post(`${node.at}/pull-requests/1/undo`)
    expect((await undo()).body).to.deep.include({
      code: 'not_merged',
      detail: 'Only a merged pull request can be undone; this one is open',
    })
    await ann.patch(`${node.at}/pull-requests/1`, { status: 'closed' }).then(expecting(200))
    expect(codeOf(await undo())).to.deep.equal([409, 'not_merged'])
    await ann.patch(`${node.at}/pull-requests/1`, { status: 'open' }).then(expecting(200))
    await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    const { pr } = (await undo().then(expecting(201))).body
    expect(pr).to.include({ target_branch: 'release/1', can_merge: true })
    await ann.delete(`${node.at}/branches/release%2F1`).then(expecting(204))
    expect(codeOf(await undo())).to.deep.equal([409, 'target_branch_missing'])
    expect(codeOf(await ann.post(`${node.at}/pull-requests/9/undo`))).to.deep.equal([404, 'pull_request_not_found'])
  })

  it('has nothing to undo if the merge changed nothing, or if the target was rewound', async () => {
    const node = await aNode()
    const { git } = node
    git.point('empty', git.commit({ parents: [git.head()] }))
    await node.open('empty')
    await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    expect(codeOf(await ann.post(`${node.at}/pull-requests/1/undo`))).to.deep.equal([409, 'no_changes'])
    await node.branch('release')
    await node.proposal('draft')
    const { target_commit } = await node.open('draft', { target_branch: 'release' })
    await ann.post(`${node.at}/pull-requests/2/merge`).then(expecting(200))
    git.point('release', target_commit)
    expect(codeOf(await ann.post(`${node.at}/pull-requests/2/undo`))).to.deep.equal([409, 'no_changes'])
  })

  it('keeps what the target had and the source lacked, after a push of a merge commit', async () => {
    const node = await aNode()
    const { git } = node
    await node.proposal('draft')
    await node.open('draft')
    const ours = await node.commit('main', { 'ours.txt': '1\n' })
    git.point('main', git.commit({ files: { 'draft.txt': 'draft\n' }, parents: [ours, git.head('draft')] }))
    expect((await node.pull(1)).status).to.equal('merged')
    const changed = await node.commit('main', { 'ours.txt': '2\n' })
    const { pr } = (await ann.post(`${node.at}/pull-requests/1/undo`).then(expecting(201))).body
    expect(git.lines('diff', '--name-status', changed, pr.source_commit)).to.deep.equal(['D\tdraft.txt'])
  })

  it('opens with its problems if main would refuse it, and does not open what every branch refuses', async () => {
    const node = await aNode()
    const gone = await newNode(grove, ann)
    await node.commit('main', { 'connections/eats.json': JSON.stringify({ target: gone.id }) })
    await node.branch('draft')
    await node.commit('draft', { 'connections/eats.json': null })
    await node.open('draft')
    await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
    await ann.delete(gone.at).then(expecting(204))
    const { pr } = (await ann.post(`${node.at}/pull-requests/1/undo`).then(expecting(201))).body
    expect(pr).to.deep.include({
      merge_reason: 'invalid_content',
      merge_problems: [{ path: 'connections/eats.json', reason: `There is no node ${gone.id} in this organisation` }],
    })
    const other = await aMerged()
    await other.node.branch('next')
    await other.node.commit('next', { 'draft.txt': null })
    await other.node.open('next')
    await ann.post(`${other.node.at}/pull-requests/2/merge`).then(expecting(200))
    await other.node.commit('main', { 'Draft.txt': 'another' })
    const refs = other.node.git.say('for-each-ref')
    const { status, body } = await ann.post(`${other.node.at}/pull-requests/2/undo`)
    expect([status, body.detail[0].ctx.path]).to.deep.equal([422, 'draft.txt'])
    expect(other.node.git.say('for-each-ref')).to.equal(refs)
  })

  it('is open to editors, also if main changes only by pull requests', async () => {
    const { node, path } = await aMerged()
    await ann.patch(`/orgs/${node.org}`, { require_pull_requests: true }).then(expecting(200))
    expect(codeOf(await bob.post(`${path}/undo`))).to.deep.equal([201, 2])
    await ann.patch(`/orgs/${node.org}`, { require_pull_requests: false }).then(expecting(200))
  })

  describe('agrees with git', () => {
    let folder: string

    before(() => {
      folder = mkdtempSync(join(tmpdir(), 'grove-undo-'))
    })
    after(() => rmSync(folder, { recursive: true, force: true }))

    /** The result of native Git: the tree, or the paths that conflict. */
    const revertedByGit = ({ git }: TestNode, { before, last }: { before: string; last: string }) => {
      const clone = mkdtempSync(join(folder, 'clone-'))
      const env = { ...environment(join(clone, '.git')), GIT_WORK_TREE: clone }
      const say = (...args: string[]) => execFileSync('git', args, { cwd: clone, env, stdio: 'pipe' }).toString().trim()
      execFileSync('git', ['clone', '-q', git.dir, clone], { env: { PATH: process.env.PATH }, stdio: 'pipe' })
      const whole = say('commit-tree', `${last}^{tree}`, '-p', before, '-m', 'The whole range')
      try {
        say('revert', '--no-commit', whole)
        return { tree: say('write-tree') }
      } catch {
        const paths = say('ls-files', '-u', '-z').split('\0').filter(Boolean)
        return { paths: [...new Set(paths.map((line) => line.slice(line.indexOf('\t') + 1)))].sort() }
      }
    }

    it.deep('over random histories', async () => {
      const outcomes = { tree: 0, paths: 0, nothing: 0 }
      const cases = fc.sample(historyArbitrary, { numRuns: 60, seed: 35 })
      for (const { start, proposed, since } of cases) {
        const node = await aNode()
        const { git } = node
        const base = git.commit({ files: textsOf(start), parents: [git.head()] })
        git.point('main', base)
        const last = commitAll(git, base, start, proposed)
        git.point('draft', last.oid)
        await node.open('draft')
        await ann.post(`${node.at}/pull-requests/1/merge`).then(expecting(200))
        const head = commitAll(git, last.oid, last.files, since)
        git.point('main', head.oid)
        const meant = revertedByGit(node, { before: base, last: last.oid })
        const { status, body } = await ann.post(`${node.at}/pull-requests/1/undo`)
        const nothing = meant.tree === git.say('rev-parse', 'main^{tree}')
        const said =
          status === 201 ? { tree: git.say('rev-parse', 'undo-1^{tree}') } : { code: body.code, paths: body.paths }
        const expected = nothing
          ? { code: 'no_changes', paths: undefined }
          : meant.paths
            ? { code: 'merge_conflict', paths: meant.paths }
            : meant
        expect(said, JSON.stringify({ start, proposed, since })).to.deep.equal(expected)
        outcomes[nothing ? 'nothing' : meant.paths ? 'paths' : 'tree']++
      }
      // The sample has enough of each kind to show a difference.
      expect(outcomes.tree).to.be.above(5)
      expect(outcomes.paths).to.be.above(5)
      expect(outcomes.nothing).to.be.above(0)
    })
  })

  describe('all of this', leavesCleanRepositories)
})

/** The lines of a text by their numbers, and what was written there. */
type Text = readonly string[]
type Files = Readonly<Record<string, Text>>

/** The change of a commit: writes a line, removes a file, moves one, or adds one. */
interface Act {
  readonly kind: 'write' | 'write again' | 'remove' | 'move' | 'add'
  readonly path: string
  readonly to: string
  readonly line: number
  readonly word: number
}

const lineCount = 24
const newText = (word: number): Text => Array.from({ length: lineCount }, (_, line) => `text ${word}, line ${line}`)
const pathArbitrary = fc.constantFrom('a.md', 'b.md', 'notes/a.md', 'notes/b.md')
const actArbitrary: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom('write', 'write', 'write', 'write again', 'remove', 'move', 'add'),
  path: pathArbitrary,
  to: pathArbitrary,
  line: fc.nat(lineCount - 1),
  word: fc.nat(5),
})
const actsArbitrary = fc.array(fc.array(actArbitrary, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
const historyArbitrary = fc.record({
  start: fc
    .subarray(['a.md', 'b.md', 'notes/a.md'], { minLength: 2 })
    .map((paths): Files => Object.fromEntries(paths.map((path, at) => [path, newText(at)]))),
  proposed: actsArbitrary,
  since: fc.oneof(fc.constant([]), actsArbitrary),
})

function textsOf(files: Files): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, text]) => [path, `${text.join('\n')}\n`]))
}

function acted(files: Files, { kind, path, to, line, word }: Act): Files {
  const { [path]: text, ...others } = files
  if (text === undefined) return kind === 'add' ? { ...files, [path]: newText(word + 10) } : files
  if (kind === 'remove') return others
  if (kind === 'move') return files[to] === undefined ? { ...others, [to]: text } : files
  if (kind === 'add') return files
  const written = kind === 'write' ? `word ${word}, line ${line}` : `text ${word}, line ${line}`
  return { ...files, [path]: text.map((old, at) => (at === line ? written : old)) }
}

/** One commit for each list of acts. */
function commitAll(git: Git, parent: string, files: Files, commits: readonly (readonly Act[])[]) {
  let [oid, now] = [parent, files]
  for (const acts of commits) {
    const next = acts.reduce(acted, now)
    const gone = Object.fromEntries(Object.keys(now).flatMap((path) => (next[path] ? [] : [[path, null]])))
    oid = git.commit({ files: { ...gone, ...textsOf(next) }, parents: [oid] })
    now = next
  }
  return { oid, files: now }
}
