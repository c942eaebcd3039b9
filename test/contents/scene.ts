/** Shared by the tests of contents. It has a service whose clock they move, a user, and Git's view of a commit. */

import { expect } from 'chai'
import type { Git } from '../support/git.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'

/** `changes` of a commit as `git diff-tree` tells them; of a root, or from null, against nothing. */
export function changesByGit({ id, git }: TestNode, target: string, from?: string | null) {
  const base = from === undefined ? (parentsOf(git, target)[0] ?? null) : from
  const trees = [base ?? git.say('hash-object', '-t', 'tree', '/dev/null'), target]
  const fields = git
    .run(['diff-tree', '-r', '-z', '--no-renames', ...trees])
    .toString()
    .split('\0')
    .slice(0, -1)
  const changes: Record<'added' | 'removed' | 'modified', object[]> = { added: [], removed: [], modified: [] }
  for (let at = 0; at < fields.length; at += 2) {
    const [, , before, after, status] = (fields[at] ?? '').split(' ')
    const entity = { ...entityOf(id, fields[at + 1] ?? ''), old_object_id: null, new_object_id: null }
    if (status === 'A') changes.added.push({ ...entity, object_id: after })
    else if (status === 'D') changes.removed.push({ ...entity, object_id: before })
    else changes.modified.push({ ...entity, object_id: after, old_object_id: before, new_object_id: after })
  }
  return { node_id: id, base_commit_id: base, target_commit_id: target, ...changes }
}

function parentsOf(git: Git, commit: string): string[] {
  return git.say('log', '-1', '--format=%P', commit).split(' ').filter(Boolean)
}

function entityOf(nodeId: string, entity_key: string) {
  const [folder, name = ''] = entity_key.split('/')
  const entity = (entity_type: string, entity_id: string) => ({ entity_type, entity_id, entity_key })
  if (entity_key === 'node.json') return entity('node', nodeId)
  if (entity_key === 'content.md') return entity('content', entity_key)
  if (folder === 'parents') return entity('edge', name.replace('.json', ''))
  return folder === 'connections' ? entity('connection', name.replace('.json', '')) : entity('file', entity_key)
}

export let grove: Grove

export let ann: PersonClient

export let time = 0

export const pass = (seconds: number) => {
  time += seconds * 1000
}

export let nodes: TestNode[] = []

export const aNode = async (fields: object = {}) => {
  const node = await newNode(grove, ann, fields)
  nodes.push(node)
  return node
}

export const put = (path: string, content = path) => ({ action: 'put', path, content })

export const post = ({ at }: TestNode, changes: object[], more: object = {}, branch = 'main') =>
  ann.post(`${at}/tree/${branch}/commits`, { message: 'A change', changes, ...more })

/** A service of its own for each file. */
export function useScene(): void {
  before(async () => {
    nodes = []
    time = Date.parse('2026-01-01T00:00:00Z')
    grove = await startGrove({ now: () => new Date(time) })
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())
}

/** Registers a test of all nodes that the file has made. */
export function leavesCleanRepositories(): void {
  it('leaves repositories that git fsck finds clean', () => {
    expect(nodes).to.not.have.length(0)
    for (const { git } of nodes) git.fsck()
  })
}
