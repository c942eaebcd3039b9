/** The path above the content of a node's other pages. */

import type { Api } from '../../../spec/client/api.ts'
import type { AnswerOf } from '../../http/in-process.ts'
import { type PageContext, param } from '../page-context.ts'

export interface AtNode {
  readonly path: { readonly org_id: string; readonly node_id: string }
  readonly org: AnswerOf<'getOrg'>
  readonly node: AnswerOf<'getNode'>
}

export async function readAtNode(visit: PageContext): Promise<AtNode> {
  const { api }: { api: Api } = visit
  const path = { org_id: param(visit, 'org'), node_id: param(visit, 'node') }
  const node = await api.getNode({ path })
  return { path, node, org: await api.getOrg({ path }) }
}

interface NodeHeadProps {
  readonly visit: PageContext
  readonly at: AtNode
  /** Links between the node and this page. */
  readonly between?: readonly { readonly title: string; readonly href: string }[]
}

export function NodePath({ visit: { urls }, at: { org, node }, between = [] }: NodeHeadProps) {
  const steps = [
    { title: org.name, href: urls.org(org.id) },
    { title: node.title, href: urls.node(org.id, node.id, node.title) },
    ...between,
  ]
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
