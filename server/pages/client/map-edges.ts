/** Draws links on demand, by type. The graph is fetched once. */

import type { Schemas } from '../../../spec/client/api.ts'
import { slotOf } from './areas.ts'
import { fetchJson } from './fetch.ts'
import type { Dots, Link } from './map-dots.ts'

/** The most links that are drawn; the most types in the list. */
const most = { links: 20_000, types: 12 } as const
/** The type of the edges of the tree. Areas show them already, so they are drawn first only if there are no others. */
const subpage = 'subpage'

/** Lets a checkbox show and hide the links. Fills `list` with a checkbox for each of the most frequent types. */
export function followLinks(all: HTMLInputElement, list: HTMLFieldSetElement, dots: Dots): void {
  let drawn: Promise<() => void> | undefined
  const draw = async () => {
    drawn ??= offerTypes(list, dots, () => all.checked)
    const show = await drawn
    list.hidden = list.childElementCount < 2 || !all.checked
    show()
  }
  all.addEventListener('change', () => void draw())
  if (all.checked) void draw()
}

/** Fetches the links and offers their types. Returns a function that draws those of the chosen types. */
async function offerTypes(list: HTMLFieldSetElement, dots: Dots, isShown: () => boolean): Promise<() => void> {
  const answer = await fetchJson<Schemas['PublicGraph']>('graph')
  const types = new Map<string, Link[]>()
  for (const { source, target, connection_type } of answer?.edges ?? []) {
    const [from, to] = [dots.places.get(source), dots.places.get(target)]
    if (from === undefined || to === undefined) continue
    const name = connection_type || subpage
    const link = { from, to, type: connection_type }
    const known = types.get(name)
    if (known) known.push(link)
    else types.set(name, [link])
  }
  const largest = [...types].sort(([, a], [, b]) => b.length - a.length).slice(0, most.types)
  const isChecked = (name: string) => name !== subpage || largest.length === 1
  const choices = largest.map(([name, links]) => ({ links, ...choiceOf(name, links.length, isChecked(name)) }))
  list.append(...choices.map(({ label }) => label))
  const show = () => {
    const shown = isShown() ? choices.filter(({ check }) => check.checked).flatMap(({ links }) => links) : []
    dots.show(shown.slice(0, most.links))
  }
  list.addEventListener('change', show)
  return show
}

function choiceOf(type: string, count: number, isChecked: boolean) {
  const label = document.createElement('label')
  const check = Object.assign(document.createElement('input'), { type: 'checkbox', checked: isChecked })
  const line = document.createElement('span')
  line.className = 'sw line'
  if (type !== subpage) line.dataset.c = String(slotOf(type))
  const number = document.createElement('span')
  number.className = 'n'
  number.textContent = count.toLocaleString('en')
  label.append(check, line, type.replaceAll('_', ' '), number)
  return { label, check }
}
