/** Renders a text as its page will show it. Loaded when the user opens the preview. */

import type { Grove, Output } from '../../../spec/client/client.ts'
import { folded } from '../../markdown/note-names.ts'
import { linkNames, nameOf, nodeNamed } from '../linking.ts'
import { toolsFor } from '../text/drawing.ts'
import { resolver } from '../text/links.ts'
import type { Resolve } from '../text/markdown.ts'
import { renderText } from '../text/rendering.ts'
import { Urls } from '../urls.ts'

interface Shown {
  readonly root: string
  readonly org: string
  readonly node: string
  readonly title: string
  readonly text: string
}

/** Maximum names resolved for one preview. The next preview resolves more. */
const mostNames = 20
/** Ids by folded title; undefined if no node has it. */
const named = new Map<string, string | undefined>()
let saved: Promise<Output<'listLinks'>['links']> | undefined

/** Returns the HTML of a text. */
export async function preview(api: Grove, { root, org, node, title, text }: Shown): Promise<string> {
  // A new node has no links yet. Without an answer, links are resolved only by title.
  saved ??= api.listLinks({ path: { org_id: org, node_id: node } }).then(
    ({ links }) => links,
    () => [],
  )
  const unknown = linkNames(text).filter((name) => !named.has(folded(name)))
  await Promise.all(
    unknown.slice(0, mostNames).map(async (name) => {
      const id = await nodeNamed(api, org, name).catch(() => undefined)
      named.set(folded(name), id)
    }),
  )
  const urls = new Urls(root, root)
  const asSaved = resolver(urls, { org, node, revision: 'main' }, await saved)
  const resolve: Resolve = (target, isWiki) => {
    const found = asSaved(target, isWiki)
    if (found !== undefined || !isWiki) return found
    const name = nameOf(target.split('#')[0] ?? '')
    const id = named.get(folded(name))
    return id === undefined ? undefined : { kind: 'node', href: urls.node(org, id), name }
  }
  return renderText(text, title, resolve, await toolsFor(text)).html
}
