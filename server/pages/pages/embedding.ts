/** Reads what a page embeds of other pages. The reads that its ETag needs come first, the texts only if it is sent. */

import { createHash } from 'node:crypto'
import pLimit from 'p-limit'
import { createCache } from '../../../gitstore/caching/caches.ts'
import type { Api, Output } from '../../../spec/client/api.ts'
import { AppError } from '../../base/errors.ts'
import * as limits from '../../base/limits.ts'
import { withoutHead } from '../../markdown/front-matter-lines.ts'
import { unlessBusy } from '../parts/degraded.ts'
import { type Tools, toolsFor } from '../text/drawing.ts'
import { asQuoted, type Card, fewCards, firstBlocks } from '../text/embeds.ts'
import { cardKey, resolver } from '../text/links.ts'
import { type Env, TooMuchError } from '../text/markdown.ts'
import { isTooLong, newEnv, parsing, withoutTitle, writing } from '../text/rendering.ts'
import { type Part, partOf } from '../text/sections.ts'
import { inTurns } from '../text/texts.ts'
import type { Urls } from '../urls.ts'
import { readText } from './version.ts'

type Links = Output<'listLinks'>['links']
type LinkedNode = NonNullable<Links[number]['node']>

/** An embedded node, or part of it, as it is now on `main`. Old revisions of the page also show it so. */
export interface Embed extends Part {
  readonly id: string
  readonly title: string
  /** Identifies the text. Undefined if it cannot be shown. */
  readonly source?: { readonly commit: string; readonly blob: string; readonly links: Links }
  /** Why it cannot be shown. */
  readonly why?: string
}

/** Finds what the text of a node embeds. The result identifies all that the page will show of it. */
export async function findEmbeds(api: Api, at: { org_id: string; node_id: string }, links: Links): Promise<Embed[]> {
  const wanted = new Map<string, LinkedNode>()
  for (const { embeds, kind, node } of links)
    if (embeds && kind === 'node' && node !== undefined && node.id !== at.node_id) wanted.set(cardKey(node), node)
  const began = performance.now()
  const texts = new Map<string, Promise<Pick<Embed, 'source' | 'why'>>>()
  const oneOfFew = pLimit(3)
  const read = (id: string) => {
    const text = texts.get(id) ?? oneOfFew(() => findText(api, at.org_id, id, began))
    texts.set(id, text)
    return text
  }
  return Promise.all(
    [...wanted.values()].map(async ({ id, title, heading, block }, index) => ({
      ...{ id, title, ...(heading !== undefined && { heading }), ...(block !== undefined && { block }) },
      ...(index < limits.embeds ? await read(id) : { why: fewCards }),
    })),
  )
}

const late = { why: 'The service is busy, so this page is not shown here.' }
const tooLong = { why: 'This page is too long to be shown here.' }
const unreadable = { why: 'This page could not be read.' }

async function findText(api: Api, org: string, id: string, began: number): Promise<Pick<Embed, 'source' | 'why'>> {
  if (performance.now() - began > limits.embedLinksMs) return late
  const asked = api.listLinks({ path: { org_id: org, node_id: id }, query: { revision: 'main' } })
  const found = await unlessBusy(
    asked.catch((error: unknown) => refusal(error)),
    late,
  )
  if ('why' in found) return found
  const { commit_id: commit, object_id: blob, links } = found
  if (commit === undefined || blob === undefined) return { why: 'This page has no text yet.' }
  return links.length > limits.embedLinks ? tooLong : { source: { commit, blob, links } }
}

/** Returns the reason why a node is not shown, if that is known. Other errors are thrown. */
function refusal(error: unknown): { readonly why: string } {
  const code = error instanceof AppError ? error.code : undefined
  if (code === 'too_large') return tooLong
  if (code === 'node_not_found' || code === 'branch_not_found' || code === 'forbidden') return unreadable
  throw error
}

interface Rendered {
  readonly html: string | undefined
  readonly why?: string
  /** UTF-16 units of the whole text. */
  readonly units: number
}

/** HTML by its text and the targets of its links. */
const kept = createCache<Rendered>('shown_embeds')

interface Page {
  readonly api: Api
  readonly signal: AbortSignal
  readonly urls: Urls
  readonly org: string
}

/** Renders what `findEmbeds` found, one after the other, because parsing is work of this thread. */
export async function showEmbeds(page: Page, embeds: readonly Embed[]): Promise<Map<string, Card>> {
  const cards = new Map<string, Card>()
  let units = 0
  let written = 0
  for (const embed of embeds) {
    const { title: name, heading, why } = embed
    const title = heading === undefined ? name : `${name} › ${heading.split('#').join(' › ')}`
    const shown =
      why !== undefined || units > limits.embedsUnits || written > limits.embedsHtmlUnits
        ? { html: undefined, why: why ?? tooMuch }
        : await render(page, embed)
    if ('units' in shown) units += shown.units
    const { html, why: reason } = shown
    written += html?.length ?? 0
    cards.set(cardKey(embed), {
      title,
      ...(html !== undefined && { html }),
      ...(reason !== undefined && { why: reason }),
    })
  }
  return cards
}

const tooMuch = 'This page embeds too much text to show all of it here.'

async function render(page: Page, { id, title, heading, block, source }: Embed): Promise<Rendered> {
  if (source === undefined) return { html: undefined, ...unreadable, units: 0 }
  const { api, urls, org, signal } = page
  const { commit, blob, links } = source
  const key = createHash('sha256')
    .update(JSON.stringify([urls.org(org), id, title, heading, block, blob, links]))
    .digest('base64')
  const known = kept.get(key)
  if (known !== undefined) return known
  const text = await readText(api, { org_id: org, node_id: id }, commit)
  const resolve = resolver(urls, { org, node: id, revision: 'main', isQuoted: true }, links)
  const part = { ...(heading !== undefined && { heading }), ...(block !== undefined && { block }) }
  const steps = partOfText(text, { title, part }, newEnv(resolve, id), await toolsFor(text))
  const rendered = await inTurns(steps, signal)
  kept.set(key, rendered, { size: 2 * ((rendered.html?.length ?? 0) + key.length) + 500 })
  return rendered
}

/** Renders the part of a text in steps. */
function* partOfText(
  text: string,
  { title, part }: { readonly title: string; readonly part: Part },
  env: Env,
  tools: Tools,
): Generator<undefined, Rendered, undefined> {
  const units = text.length
  if (isTooLong(text)) return { html: undefined, ...tooLong, units: 0 }
  try {
    const tokens = yield* parsing(text, env, tools)
    const whole = part.heading === undefined && part.block === undefined ? withoutTitle(tokens, title) : tokens
    const found = partOf(whole, part)
    if (found === undefined) {
      const what = part.block === undefined ? `no heading “${part.heading}”` : `no block “^${part.block}”`
      return { html: undefined, why: `This page has ${what}.`, units }
    }
    const shown = firstBlocks(found, withoutHead(text), limits.embedUnits)
    const html = yield* writing(asQuoted(shown), env, limits.embedHtmlUnits)
    return { html, units, ...(shown.length < found.length && { why: 'Only the beginning is shown here.' }) }
  } catch (error) {
    if (error instanceof TooMuchError) return { html: undefined, ...tooLong, units }
    throw error
  }
}
