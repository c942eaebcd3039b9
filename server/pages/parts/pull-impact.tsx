/** The changes of a proposal to the graph, as `getPullImpact` returns them. */

import type { ComponentChildren } from 'preact'
import type { Api } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import type { Urls } from '../urls.ts'
import { plural } from './dates.tsx'
import { type EdgeChange, Impact } from './impact.tsx'

type PullImpact = AnswerOf<'getPullImpact'>
type Edge = PullImpact['edges_added'][number]

/** Maximum items shown of each list. */
const most = 24

/** Reads the impact; undefined if the service refuses it. The proposal is then shown without it. */
export async function readPullImpact(
  api: Api,
  path: { readonly org_id: string; readonly node_id: string; readonly number: number },
): Promise<PullImpact | undefined> {
  try {
    return await api.getPullImpact({ path })
  } catch (error) {
    if (error instanceof AppError) return undefined
    throw error
  }
}

interface ProposedImpactProps {
  readonly urls: Urls
  readonly org: string
  readonly title: string
  readonly impact: PullImpact | undefined
}

export function ProposedImpact({ urls, org, title, impact }: ProposedImpactProps) {
  if (impact === undefined) return <p class="notice">The changes of links could not be loaded.</p>
  const edges = [
    ...impact.edges_added.map((edge) => toChange('+', edge, impact.node_id)),
    ...impact.edges_removed.map((edge) => toChange('-', edge, impact.node_id)),
  ]
  const facts = factsOf({ urls, org, title, impact })
  if (edges.length === 0 && facts.length === 0) return null
  return (
    <Impact urls={urls} org={org} title={title} edges={edges}>
      {facts.length > 0 && (
        <ul class="facts">
          {facts.map((fact) => (
            <li>{fact}</li>
          ))}
        </ul>
      )}
    </Impact>
  )
}

/** Describes an edge as a change of this node. */
export function toChange(sign: EdgeChange['sign'], edge: Edge, node: string): EdgeChange {
  const { label } = edge
  if (edge.edge_type === 'parent_child' && edge.target === node)
    return { sign, role: 'parent', id: edge.source, title: edge.source_title || edge.source, type: 'child of', label }
  const { target: id, target_title, connection_type: type } = edge
  return { sign, role: 'connection', id, title: target_title || id, type, label }
}

function factsOf({
  urls,
  org,
  title,
  impact,
}: ProposedImpactProps & { readonly impact: PullImpact }): ComponentChildren[] {
  const { ancestors, descendants_affected: below, dangling, public: shown, truncated } = impact
  const links = (nodes: PullImpact['ancestors']['gained']) => <NodeLinks urls={urls} org={org} nodes={nodes} />
  return [
    ancestors.gained.length > 0 && (
      <>
        {title} moves below {links(ancestors.gained)}.
      </>
    ),
    ancestors.lost.length > 0 && (
      <>
        {title} is no longer below {links(ancestors.lost)}.
      </>
    ),
    below > 0 && `The path of ${plural(below, 'node')} below it also changes.`,
    dangling.length > 0 && (
      <>
        {plural(dangling.length, 'link points to a missing page', 'links point to missing pages')}:{' '}
        {dangling
          .slice(0, most)
          .map(({ target, source, edge_type }) => (edge_type === 'parent_child' ? source : target))
          .join(', ')}
        {dangling.length > most && ` and ${dangling.length - most} more`}.
      </>
    ),
    shown.appears.length > 0 && `${shown.appears.length} of these links will be public.`,
    shown.disappears.length > 0 && `${shown.disappears.length} of these links will no longer be public.`,
    truncated && 'Some changes are not shown.',
  ].filter((fact) => fact !== false)
}

function NodeLinks({ urls, org, nodes }: { urls: Urls; org: string; nodes: PullImpact['ancestors']['gained'] }) {
  return (
    <>
      {nodes.slice(0, most).map(({ node_id, title }, at) => (
        <>
          {at > 0 && ', '}
          <a href={urls.node(org, node_id, title)}>{title}</a>
        </>
      ))}
      {nodes.length > most && ` and ${nodes.length - most} more`}
    </>
  )
}
