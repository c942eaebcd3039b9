/** The changes of a pull request since a review, with `git merge-tree` and `git diff-tree` as the oracles. */

import { readdirSync } from 'node:fs'
import { expect } from 'chai'
import { ledgerRef } from '../../server/domain/layout.ts'
import type { Git } from '../support/git.ts'
import { expecting, type TestNode } from '../support/node.ts'
import type { Answer } from '../support/people.ts'
import { aNode, ann, leavesCleanRepositories, useScene } from './scene.ts'

const lines = (changed: Readonly<Record<number, string>> = {}) =>
  Array.from({ length: 20 }, (_, n) => `${changed[n] ?? `line ${n}`}\n`).join('')

/** The paths that differ, by `git diff-tree`. */
function pathsByGit(git: Git, from: string, to: string) {
  const said = git.lines('diff-tree', '-r', '--no-renames', '--name-status', from, to).map((line) => line.split('\t'))
  const paths = (sign: string) => said.filter(([status]) => status === sign).map(([, path]) => path)
  return { added: paths('A'), removed: paths('D'), modified: paths('M') }
}

/** The reviewed change merged onto `onto`, as a tree. */
function mergedByGit(git: Git, base: string, onto: string, head: string): string {
  const [ours, theirs] = [onto, head].map((oid) => git.say('commit-tree', `${oid}^{tree}`, '-p', base, '-m', 'side'))
  return git.say('merge-tree', '--write-tree', '--no-messages', ours ?? '', theirs ?? '')
}

const pathsOf = ({ changes }: Answer['body']) => {
  const paths = (list: { entity_key: string }[]) => list.map(({ entity_key }) => entity_key)
  return { added: paths(changes.added), removed: paths(changes.removed), modified: paths(changes.modified) }
}

const none = { added: [], removed: [], modified: [] }

describe('the changes since a review', () => {
  useScene()

  /** A node with text.md on main, and a pull request that changes its line 10. */
  const reviewed = async (files: Record<string, string> = {}) => {
    const node = await aNode()
    const base = await node.commit('main', { 'text.md': lines(), 'other.md': lines() })
    await node.branch('draft')
    const head = await node.commit('draft', { 'text.md': lines({ 10: 'reviewed' }), ...files })
    const { number } = await node.open('draft')
    return { node, base, head, number: number as number }
  }
  const ask = (node: TestNode, number: number, query: string) =>
    ann.get(`${node.at}/pull-requests/${number}/changes-since?${query}`)
  const since = async (node: TestNode, number: number, query: string): Promise<Answer['body']> =>
    (await ask(node, number, query).then(expecting(200))).body
  const update = async (node: TestNode, number: number): Promise<string> =>
    (await ann.post(`${node.at}/pull-requests/${number}/update-branch`).then(expecting(200))).body.pr.source_commit

  it('are none while the head is the same, and after a rebase onto other changes of the same file', async () => {
    const { node, base, head, number } = await reviewed()
    const same = await since(node, number, `commit=${head}`)
    expect(same).to.deep.equal({
      node_id: node.id,
      commit: head,
      base,
      source_commit: head,
      merge_base: base,
      basis: 'merge',
      changes: { node_id: node.id, base_commit_id: head, target_commit_id: head, ...none },
    })
    const target = await node.commit('main', { 'text.md': lines({ 2: 'main' }), 'main.md': 'main\n' })
    const rebased = await update(node, number)
    node.git.point('kept', head)
    const body = await since(node, number, `commit=${head}&text=true`)
    expect(body).to.deep.include({ base, source_commit: rebased, merge_base: target, basis: 'merge' })
    expect(pathsOf(body)).to.deep.equal(none)
    expect(body.text).to.deep.include({ entities: [], total: 0, truncated: false })
  })

  it('are only those of the author after a rebase, line by line, and nothing is saved', async () => {
    const { node, base, head, number } = await reviewed({ 'gone.md': 'gone\n' })
    const target = await node.commit('main', { 'text.md': lines({ 2: 'main' }), 'main.md': 'main\n' })
    await update(node, number)
    const source = await node.commit('draft', {
      'text.md': lines({ 2: 'main', 10: 'reviewed', 11: 'since' }),
      'gone.md': null,
      'new.md': 'new\n',
    })
    node.git.point('kept', head)
    const before = node.git.say('count-objects', '-v')
    const body = await since(node, number, `commit=${head}&text=true`)
    expect(node.git.say('count-objects', '-v')).to.equal(before)
    expect(readdirSync(node.git.dir).filter((name) => name.startsWith('quarantine'))).to.deep.equal([])

    expect(body).to.deep.include({ base, source_commit: source, merge_base: target, basis: 'merge' })
    expect(pathsOf(body)).to.deep.equal({ added: ['new.md'], removed: ['gone.md'], modified: ['text.md'] })
    const text = body.text.entities.find(({ entity_key }: { entity_key: string }) => entity_key === 'text.md')
    const changed = text.hunks.flatMap((hunk: Answer['body']) => hunk.lines)
    expect(changed.filter(({ kind }: { kind: string }) => kind !== 'context')).to.deep.equal([
      { kind: 'removed', old_line: 12, text: 'line 11' },
      { kind: 'added', new_line: 12, text: 'since' },
    ])
    expect(changed).to.deep.include({ kind: 'context', old_line: 11, new_line: 11, text: 'reviewed' })

    const merged = mergedByGit(node.git, base, target, head)
    expect(pathsOf(body)).to.deep.equal(pathsByGit(node.git, merged, source))
    expect(body.changes.modified[0].old_object_id).to.equal(node.git.say('rev-parse', `${merged}:text.md`))
    expect(text.old_object_id).to.equal(body.changes.modified[0].old_object_id)

    const narrowed = await since(node, number, `commit=${head}&text=true&path=new.md`)
    expect(narrowed.text.entities.map(({ entity_key }: { entity_key: string }) => entity_key)).to.deep.equal(['new.md'])
    expect(narrowed.changes).to.deep.equal(body.changes)
  })

  it('are those between the heads if the reviewed change conflicts with the target', async () => {
    const { node, base, head, number } = await reviewed()
    const target = await node.commit('main', { 'text.md': lines({ 10: 'main' }), 'main.md': 'main\n' })
    const source = node.git.commit({ files: { 'text.md': lines({ 10: 'both' }) }, parents: [target] })
    node.git.point('kept', head)
    node.git.point('draft', source)
    const body = await since(node, number, `commit=${head}&text=true`)
    expect(body).to.deep.include({ base, source_commit: source, merge_base: target, basis: 'heads' })
    expect(pathsOf(body)).to.deep.equal(pathsByGit(node.git, head, source))
    expect(pathsOf(body)).to.deep.equal({ added: ['main.md'], removed: [], modified: ['text.md'] })
    expect(body.text.total).to.equal(2)
  })

  it('are those between the heads if there are several merge bases', async () => {
    const { node, base, head, number } = await reviewed()
    const { git } = node
    const other = git.commit({ files: { 'other.md': lines({ 1: 'main' }) }, parents: [base] })
    const both = { 'text.md': lines({ 10: 'reviewed' }), 'other.md': lines({ 1: 'main' }) }
    git.point('main', git.commit({ files: both, parents: [other, head] }))
    const source = git.commit({ files: { ...both, 'new.md': 'new\n' }, parents: [head, other] })
    git.point('draft', source)
    const body = await since(node, number, `commit=${head}`)
    expect(body).to.deep.include({ base: head, merge_base: null, basis: 'heads' })
    expect(pathsOf(body)).to.deep.equal(pathsByGit(git, head, source))
  })

  it('show the commits that a new target brings in, if the base of the review is given', async () => {
    const { node, base, number } = await reviewed()
    const stack = await node.commit('main', { 'stack.md': 'stack\n' })
    const head = node.git.commit({ files: { 'text.md': lines({ 10: 'reviewed' }) }, parents: [stack] })
    node.git.point('draft', head)
    node.git.point('old', base)
    await ann.patch(`${node.at}/pull-requests/${number}`, { target_branch: 'old' }).then(expecting(200))
    const body = await since(node, number, `commit=${head}&base=${stack}`)
    expect(body).to.deep.include({ base: stack, merge_base: base, basis: 'merge' })
    expect(pathsOf(body)).to.deep.equal({ ...none, added: ['stack.md'] })
    expect(pathsOf(await since(node, number, `commit=${head}`))).to.deep.equal(none)
  })

  it('stay readable after a forced push for a head that the ledger keeps, and for no other commit', async () => {
    const { node, base, head, number } = await reviewed()
    const { git } = node
    git.point('draft', git.commit({ files: { 'text.md': lines({ 10: 'pushed' }) }, parents: [base] }))
    const missing = await ask(node, number, `commit=${head}`)
    expect({ status: missing.status, code: missing.body.code }).to.deep.equal({ status: 404, code: 'commit_not_found' })
    const ledger = git.say('rev-parse', ledgerRef)
    git.say(
      'update-ref',
      ledgerRef,
      git.say('commit-tree', `${ledger}^{tree}`, '-p', ledger, '-p', head, '-m', `review ${number} 1`),
    )
    const body = await since(node, number, `commit=${head}`)
    expect(body).to.deep.include({ base, merge_base: base, basis: 'merge' })
    expect(pathsOf(body)).to.deep.equal({ ...none, modified: ['text.md'] })
  })

  it('refuse a commit that is unknown or no id, and a base that the commit does not contain', async () => {
    const { node, head, number } = await reviewed()
    const later = await node.commit('main', { 'later.md': 'later\n' })
    const answer = async (query: string) => {
      const { status, body } = await ask(node, number, query)
      return [status, body.code ?? body.detail[0].loc.join('.')]
    }
    expect(await answer(`commit=${'f'.repeat(40)}`)).to.deep.equal([404, 'commit_not_found'])
    expect(await answer('commit=draft')).to.deep.equal([422, 'query.commit'])
    expect(await answer('text=true')).to.deep.equal([422, 'query.commit'])
    expect(await answer(`commit=${head}&base=${later}`)).to.deep.equal([422, 'query.base'])
    expect(await answer(`commit=${head}&base=${'f'.repeat(40)}`)).to.deep.equal([422, 'query.base'])
    expect(await answer(`commit=${head}&text=true&path=../x`)).to.deep.equal([422, 'query.path'])
  })

  leavesCleanRepositories()
})
