/** Shows links by type. The graph of the map is fetched once. */

import type { Schemas } from '../../../spec/client/api.ts'
import { slotOf } from './areas.ts'
import { fetchJson } from './fetch.ts'
import type { Dots, Link } from './map-dots.ts'

/** The most links that are drawn; the most types in the list. */
const most = { links: 20_000, types: 12 } as const
/** The type of the edges of the tree. Areas show them already, so they are drawn first only if there are no others. */
const subpage = 'subpage'

interface Links {
  readonly dots: Dots
  /** The node whose part the map shows; '' for the whole graph. */
  readonly under: string
  /** The graph, if it is loaded already. */
  readonly graph: Graph | undefined
  /** Draws the map in the next frame. */
  redraw(): void
}

/** Lets a checkbox show and hide the links. Fills `list` with a checkbox for each of the most frequent types. */
export function followLinks(
  all: HTMLInputElement,
  list: HTMLFieldSetElement,
  { dots, under, graph, redraw }: Links,
): void {
  let choices: readonly Choice[] | undefined
  const show = () => {
    list.hidden = list.childElementCount < 2 || !all.checked
    const shown = all.checked ? (choices ?? []).filter(({ check }) => check.checked) : []
    dots.show(shown.flatMap(({ links }) => links).slice(0, most.links))
    redraw()
  }
  const offer = (loaded: Graph | undefined) => {
    choices = choicesOf(loaded, dots)
    list.append(...choices.map(({ label }) => label))
  }
  list.addEventListener('change', show)
  all.addEventListener('change', () => {
    if (choices) return show()
    choices = []
    void fetchGraph(under).then(offer).then(show)
  })
  if (!graph) return
  all.checked = true
  offer(graph)
  show()
}

export type Graph = Schemas['PublicGraph']

export function fetchGraph(under: string): Promise<Graph | undefined> {
  return fetchJson<Graph>(`graph${under && `?under=${under}`}`)
}

interface Choice {
  readonly links: readonly Link[]
  readonly label: HTMLElement
  readonly check: HTMLInputElement
}

/** The links by type, the most frequent first, each with its checkbox. */
function choicesOf(graph: Graph | undefined, dots: Dots): readonly Choice[] {
  const types = new Map<string, Link[]>()
  for (const { source, target, connection_type } of graph?.edges ?? []) {
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
  return largest.map(([name, links]) => ({ links, ...choiceOf(name, links.length, isChecked(name)) }))
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
