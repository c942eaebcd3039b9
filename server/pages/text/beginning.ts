/** The first words and the first picture of a published page. */

import type { Output } from '../../../spec/client/api.ts'
import { aroundFormulas, roughMarks } from '../../markdown/rough-grammar.ts'
import type { Urls } from '../urls.ts'
import { mediaOf } from './media.ts'

/** Returns the first words of a text without the most common markup. */
export function beginning(text: string): string {
  const lines = text
    .slice(0, 2_000)
    .split('\n')
    .map((line) => line.trim())
  const first =
    lines.find((line) => line !== '' && !/^(#|---|>|[-*+] |\||!|<|```|%%|\w+:|:::|import |export )/.test(line)) ?? ''
  return aroundFormulas(first, (part) => part.replace(roughMarks, '').replace(/[*_`[\]]/g, '')).slice(0, 200)
}

/** Returns the absolute URL of the first picture in a text. */
export function pictureOf(
  urls: Urls,
  node: { readonly org_id: string; readonly id: string },
  { links }: { readonly links: Output<'listLinks'>['links'] },
): string | undefined {
  const file = links.find(({ embeds, file: one }) => embeds && one?.exists && mediaOf(one)?.kind === 'picture')?.file
  return file && urls.absolute(urls.raw(node.org_id, node.id, 'main', file.path))
}
