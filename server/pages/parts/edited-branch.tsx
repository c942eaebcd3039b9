/** The branch that the editor changes: `main`, or the source of an open proposal. */

import type { Api } from '../../../spec/client/api.ts'
import type { NodePath } from '../edits.ts'
import { codeOf } from '../error-codes.ts'
import type { PageContext } from '../page-context.ts'
import { type Panel, panelOf } from '../properties.ts'
import type { AtNode } from './node-head.tsx'
import { findOpenPull, type Pull } from './open-pulls.ts'
import { isEditable } from './rights.ts'

export interface EditedBranch {
  readonly name: string
  readonly head: string | null
  /** The tags and properties at the head. */
  readonly panel: Panel
  /** The proposal; undefined on `main`. */
  readonly pull?: Pull
}

/** Why the branch cannot be edited. */
export interface Refused {
  readonly says: string
  readonly status: number
}

/** Returns the branch that the query names; '' and `main` are main. */
export function branchIn({ query }: PageContext): string {
  return query.get('branch') || 'main'
}

export async function readEditedBranch(visit: PageContext, at: AtNode): Promise<EditedBranch | Refused> {
  const { api, person } = visit
  const name = branchIn(visit)
  if (name === 'main') return { name, head: at.node.head ?? null, panel: panelOf(at.node) }
  if (at.org.role === undefined) return { says: 'You need the contributor role to edit proposals.', status: 403 }
  const pull = await findOpenPull(api, at.path, name)
  if (pull === undefined || pull.merge_reasons.includes('source_branch_missing'))
    return {
      says: `There is no open proposal from the branch ${name}. It may have been merged or closed.`,
      status: 409,
    }
  if (!isEditable(pull, at.org, person))
    return { says: `You need the editor role to edit proposal #${pull.number}.`, status: 403 }
  return { name, head: pull.source_commit, panel: await panelAt(api, at.path, pull.source_commit), pull }
}

/** Reads the tags and properties at a commit. A file that is not valid has none. */
async function panelAt(api: Api, path: NodePath, commit: string): Promise<Panel> {
  const at = { ...path, branch: commit, path: 'node.json' }
  const json = await api.getFile({ path: at }).catch((error: unknown) => {
    if (codeOf(error) === 'file_not_found') return { content: '{}' }
    throw error
  })
  return panelOf(fieldsIn(json.content))
}

function fieldsIn(content: string): Parameters<typeof panelOf>[0] {
  try {
    const { tags, properties } = JSON.parse(content)
    const isObject = typeof properties === 'object' && properties !== null && !Array.isArray(properties)
    return { tags: Array.isArray(tags) ? tags.map(String) : [], properties: isObject ? properties : {} }
  } catch {
    return { tags: [], properties: {} }
  }
}

interface OwnProps {
  readonly visit: PageContext
  readonly at: AtNode
  readonly own: readonly Pull[]
}

/** Leads a user who has open proposals of this page to them. */
export function OwnProposals({ visit: { urls }, at: { org, node }, own }: OwnProps) {
  const [first, ...others] = own
  if (first === undefined) return null
  const proposal = ({ number }: Pull) => <a href={urls.proposal(org.id, node.id, number, node.title)}>#{number}</a>
  const edit = ({ source_branch }: Pull, says: string) => <a href={urls.edit(org.id, node.id, source_branch)}>{says}</a>
  if (others.length === 0)
    return (
      <p class="notice">
        You have an open proposal, {proposal(first)}. {edit(first, 'Edit it instead')}.
      </p>
    )
  return (
    <p class="notice">
      You have open proposals. Edit one of them instead:{' '}
      {own.map((pull, position) => (
        <>
          {position > 0 && ', '}
          {edit(pull, `#${pull.number} ${pull.title}`)}
        </>
      ))}
      .
    </p>
  )
}

interface EditedProps {
  readonly visit: PageContext
  readonly at: AtNode
  readonly pull: Pull
}

/** Says which proposal the form changes. */
export function EditedProposal({ visit: { urls }, at: { org, node }, pull }: EditedProps) {
  return (
    <p class="why">
      You are editing the proposal{' '}
      <a href={urls.proposal(org.id, node.id, pull.number, node.title)}>
        {pull.title} #{pull.number}
      </a>
      . Saving adds a version to it.
    </p>
  )
}
