/** The selected node next to the map: title, first words and edges. */

import type { Schemas } from '../../../spec/client/api.ts'
import { slotOf } from './areas.ts'
import { excerpt } from './excerpt.ts'
import { pathOf } from './paths.ts'

type Node = Schemas['NodeDetails']

/** An edge of the selected node. */
export interface Edge {
  readonly other: string
  readonly title: string
  /** The type of a connection; '' for parents and children. */
  readonly type: string
  readonly isOut: boolean
  readonly words: string
}

/** Maximum edges in the list; maximum characters of the text. */
const most = { edges: 14, text: 220 } as const

export function edgesOf({ id, parents, children, connections }: Node): Edge[] {
  const up = parents.map((one) => ({ other: one.id, title: one.title, type: '', isOut: false, words: 'parent' }))
  const down = children.map((one) => ({ other: one.id, title: one.title, type: '', isOut: true, words: 'subpage' }))
  const others = connections.map(({ source, target, source_title, target_title, type }) => {
    const isOut = source === id
    const words = `${isOut ? '' : 'from: '}${type.replaceAll('_', ' ')}`
    return { other: isOut ? target : source, title: isOut ? target_title : source_title, type, isOut, words }
  })
  return [...others, ...up, ...down].filter(({ title }) => title !== '')
}

interface Choices {
  /** The id of the node's area, if the map shows more than that area. */
  readonly around: string | undefined
  /** Selects another node, or none with ''. */
  choose(id: string): void
}

export function showNode(peek: HTMLElement, node: Node, edges: readonly Edge[], { around, choose }: Choices): void {
  const list = make('ul')
  for (const { other, title, type, words } of edges.slice(0, most.edges)) {
    const dot = make('span', 'dot')
    if (type !== '') dot.dataset.c = String(slotOf(type))
    const link = make('a', '', title)
    link.href = pathOf(other, title)
    link.addEventListener('click', (event) => {
      event.preventDefault()
      event.stopPropagation()
      choose(other)
    })
    const item = make('li')
    item.append(dot, link, make('span', 'why', words))
    list.append(item)
  }
  const met = node.num_parents + node.num_children + node.num_connections
  const row = make('div', 'row')
  const read = make('a', 'btn go', 'Read')
  read.href = pathOf(node.id, node.title)
  row.append(read)
  if (around !== undefined) {
    const only = make('a', 'btn', 'Show only this area')
    only.href = `${pathOf()}/graph?${new URLSearchParams({ under: around, focus: node.id })}`
    row.append(only)
  }
  const close = make('button', 'icon', '×')
  close.type = 'button'
  close.ariaLabel = 'Close'
  close.addEventListener('click', () => choose(''))
  const sum = make('p', 'sub', `${met.toLocaleString('en')} ${met === 1 ? 'link' : 'links'} in total`)
  peek.replaceChildren(
    close,
    make('h2', '', node.title),
    make('p', '', excerpt(node.text_content, most.text)),
    list,
    sum,
    row,
  )
  peek.hidden = false
}

function make<K extends keyof HTMLElementTagNameMap>(name: K, look = '', text = ''): HTMLElementTagNameMap[K] {
  const made = document.createElement(name)
  if (look !== '') made.className = look
  made.textContent = text
  return made
}
