/** The path above the content of a node's other pages. */

import type { Api } from '../../../spec/client/api.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type PageContext, param } from '../page-context.ts'

export interface AtNode {
  readonly path: { readonly org_id: string; readonly node_id: string }
  readonly org: AnswerOf<'getOrg'>
  readonly node: AnswerOf<'getNode'>
}

/** @param proposed true for pages that also show a node which is only proposed */
export async function readAtNode(visit: PageContext, proposed = false): Promise<AtNode> {
  const { api }: { api: Api } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node') }
  const node = await api.getNode({ path, query: { proposed: proposed ? 'true' : 'false' } })
  return { path, node, org: await api.getOrg({ path }) }
}

interface Step {
  readonly title: string
  readonly href: string
}

interface NodeHeadProps {
  readonly visit: PageContext
  readonly at: AtNode
  /** Links between the node and this page. */
  readonly between?: readonly Step[]
}

export function NodePath({ visit: { urls }, at: { org, node }, between = [] }: NodeHeadProps) {
  const own = node.state === 'proposed' ? [] : [{ title: node.title, href: urls.node(org.id, node.id, node.title) }]
  return <PathTo steps={[{ title: org.name, href: urls.org(org.id) }, ...own, ...between]} />
}

export function PathTo({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <nav class="path" aria-label="Path to this page">
      {steps.map(({ title, href }, at) => (
        <>
          {at > 0 && <span aria-hidden="true">›</span>}
          <a href={href}>{title}</a>
        </>
      ))}
    </nav>
  )
}
