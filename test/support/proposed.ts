/** Nodes that are only proposed, written with native Git as a change set writes them. */

import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { noOid } from '../../gitstore/repo.ts'
import { type Git, gitIn } from './git.ts'

/** Members find a proposed node by these operations. */
export const shownOperations: readonly string[] = `
  listBranches createBranch getBranch deleteBranch restoreBranch listTags listEntities getFile getRaw getBlame getObject
  listCommits createCommit getCommit getCommitDiff compareCommits getPatch
  listPulls openPull getPull updatePull mergePull updatePullBranch undoPull listPullCommits getPullChanges
  getPullImpact getPullDiff getPullChangesSince getTimeline listThreads updateThread createComment getComment
  updateComment deleteComment applySuggestions listReviews submitReview getReview updateReview eraseEntry putReadMark
  listChecks putCheck`.split(/\s+/)

interface Proposing {
  readonly by: { readonly id: string; readonly name: string; readonly email: string }
  readonly title: string
  /** Files of the branch besides node.json. */
  readonly files?: Readonly<Record<string, string>>
  /** Fields of node.json besides the title. */
  readonly fields?: object
  readonly id?: string
  readonly branch?: string
  readonly changeSet?: string
  /** When it was proposed. Default: now. The sweep removes a node that no set has proposed for an hour. */
  readonly at?: string
}

export interface Proposed {
  readonly id: string
  readonly branch: string
  readonly changeSet: string
  readonly head: string
  readonly git: Git
}

const ledger = 'refs/grove/ledger'

/** Puts the repository of a proposed node in place. It has pull request 1 into `main`, which does not exist. */
export function proposeNode(
  grove: { readonly dataDir: string },
  org: string,
  {
    by: user,
    title,
    files = {},
    fields = {},
    id = randomUUID(),
    branch = 'sets/7',
    changeSet = randomUUID(),
    at = new Date().toISOString(),
  }: Proposing,
): Proposed {
  const stage = mkdtempSync(join(grove.dataDir, 'tmp-proposed-'))
  mkdirSync(join(stage, org))
  const staged = gitIn({ dataDir: stage }, org, id)
  staged.run(['init', '-q', '--bare', '--template=', staged.dir])
  const content = { 'node.json': JSON.stringify({ title, ...fields }), 'content.md': `About ${title}.\n`, ...files }
  const head = staged.commit({ files: content, message: `Propose ${title}` })
  const by = { name: user.name, email: user.email }
  const node = { id, org_id: org, title: '', created_at: at, state: 'proposed', proposed_in: changeSet }
  const pull = {
    ...{ id: randomUUID(), number: 1, title: `Add ${title}`, description: '', change_set: changeSet },
    ...{ source_branch: branch, target_branch: 'main', status: 'open', is_draft: false },
    ...{ author: by, author_id: user.id, created_at: at, by, at },
    ...{ source_commit: head, target_before: noOid, commits_ahead: 1, commits_behind: 0 },
  }
  const created = staged.commit({ files: { 'node.json': JSON.stringify(node), last: '0\n' }, message: 'create' })
  const opened = { 'pulls/0/0/1.json': JSON.stringify(pull), last: '1\n' }
  staged.point(branch, head)
  staged.say('update-ref', ledger, staged.commit({ files: opened, parents: [created], message: 'open 1' }))
  mkdirSync(join(grove.dataDir, org), { recursive: true })
  renameSync(staged.dir, join(grove.dataDir, org, `${id}.git`))
  return { id, branch, changeSet, head, git: gitIn(grove, org, id) }
}

/** Changes the fields of the node's `node.json` in the ledger. Undefined removes a field. */
export function recordNode(
  { git }: Pick<Proposed, 'git'>,
  fields: object,
  files: Readonly<Record<string, string>> = {},
) {
  const record = { ...JSON.parse(git.say('show', `${ledger}:node.json`)), ...fields }
  const parents = [git.say('rev-parse', ledger)]
  git.say('update-ref', ledger, git.commit({ files: { 'node.json': JSON.stringify(record), ...files }, parents }))
}

/** Brings the node into being, as the merge of its change set does. */
export function bringIn({ git, branch }: Proposed, title: string): void {
  const head = git.head(branch)
  const pull = JSON.parse(git.say('show', `${ledger}:pulls/0/0/1.json`))
  const at = new Date().toISOString()
  const ended = { by: pull.author, at }
  const merged = JSON.stringify({ ...pull, status: 'merged', source_commit: head, at, ended })
  git.point('main', head)
  recordNode({ git }, { state: undefined, proposed_in: undefined, title }, { 'pulls/0/0/1.json': merged })
}
