/** Renders a text as its page will show it. Loaded when the user opens the preview. */

import type { Grove, Output } from '../../../spec/client/client.ts'
import { folded } from '../../markdown/note-names.ts'
import { linkNames, nameOf, nodeNamed } from '../linking.ts'
import { toolsFor } from '../text/drawing.ts'
import { resolver } from '../text/links.ts'
import type { Resolve, Target } from '../text/markdown.ts'
import { mediaOf } from '../text/media.ts'
import { renderText } from '../text/rendering.ts'
import { Urls } from '../urls.ts'
import type { Attached } from './attachments.ts'

interface Shown {
  readonly root: string
  readonly org: string
  readonly node: string
  /** The branch of the files and links that are saved; undefined: main. */
  readonly revision: string | undefined
  readonly title: string
  readonly text: string
  /** Files that are not saved yet. */
  readonly chosen: readonly Attached[]
}

/** Object URLs of chosen pictures. The browser keeps them until the page is left. */
const pictures = new WeakMap<File, string>()

/** Maximum names resolved for one preview. The next preview resolves more. */
const mostNames = 20
/** Ids by folded title; undefined if no node has it. */
const named = new Map<string, string | undefined>()
let saved: Promise<Output<'listLinks'>['links']> | undefined

/** Returns the HTML of a text. */
export async function preview(api: Grove, shown: Shown): Promise<string> {
  const { root, org, node, revision = 'main', title, text, chosen } = shown
  // A new node has no links yet. Without an answer, links are resolved only by title.
  saved ??= api.listLinks({ path: { org_id: org, node_id: node }, query: { revision } }).then(
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
  urls.learn(org, document.body.dataset.name ?? '')
  const asSaved = resolver(urls, { org, node, revision }, await saved)
  const files = new Map(chosen.map((one) => [one.path, one]))
  // A node that the text embeds is a link here, because its text would be read again with each letter.
  const resolve: Resolve = (target, isWiki, isEmbed) => {
    const file = files.get(target)
    if (file !== undefined) return targetOf(file)
    const found = asSaved(target, isWiki, isEmbed)
    if (found !== undefined || !isWiki) return found
    const name = nameOf(target.split('#')[0] ?? '')
    const id = named.get(folded(name))
    return id === undefined ? undefined : { kind: 'node', href: urls.node(org, id, name), name }
  }
  return renderText(text, title, resolve, await toolsFor(text)).html
}

/** Returns the target of a link to a file that is not saved yet. Only pictures are opened: browsers would run others. */
function targetOf({ file, path }: Attached): Target {
  const media = file.type.startsWith('image/') ? mediaOf({ path }) : undefined
  if (media === undefined) return { kind: 'file', href: '#attached', name: file.name }
  const url = pictures.get(file) ?? URL.createObjectURL(file)
  pictures.set(file, url)
  return { kind: 'file', href: url, name: file.name, media }
}

/** Scrolls the preview with the text next to it: to the same fraction. */
export function followText(preview: HTMLElement, text: HTMLElement): void {
  const follow = () => {
    const { top, height } = text.getBoundingClientRect()
    const room = height - preview.clientHeight
    if (height === 0 || room <= 0) return
    const fraction = Math.max(0, Math.min(1, (preview.getBoundingClientRect().top - top) / room))
    preview.scrollTop = fraction * (preview.scrollHeight - preview.clientHeight)
  }
  if (preview.dataset.follows !== undefined) return
  preview.dataset.follows = ''
  addEventListener('scroll', () => requestAnimationFrame(follow), { passive: true })
}
