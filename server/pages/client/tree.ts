/** The tree at the side. Levels open in place, arrow keys move, and pages are dragged. */

import type { components } from '../../../spec/client/types.ts'
import { fetchJson } from './fetch.ts'
import { pathOf } from './paths.ts'

type Level = components['schemas']['TreePage']
type Node = components['schemas']['TreeNode']

/** Maximum nodes of a level that is opened, and maximum levels that are remembered. */
const most = { nodes: 101, levels: 50 } as const

/** The key of the remembered levels. */
const memory = `tree ${document.body.dataset.org}`

const [side] = document.querySelectorAll<HTMLElement>('[data-tree]')
if (side) openTree(side)

function openTree(tree: HTMLElement): void {
  adopt(tree)
  showCurrent(tree)
  tree.addEventListener('click', (event) => {
    const chevron = event.target instanceof Element ? event.target.closest<HTMLElement>('.chev') : null
    if (!chevron || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    void toggle(chevron)
  })
  tree.addEventListener('keydown', (event) => press(tree, event))
  tree.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.matches(stops)) makeStop(tree, target)
  })
  if ('move' in tree.dataset) takeDrags(tree)
  void reopen(tree)
}

/** The links between which arrow keys move. */
const stops = '.t, .more a'

/** Makes chevrons buttons, and the tree one Tab stop. Without script, both are links that Tab reaches. */
function adopt(tree: HTMLElement): void {
  for (const chevron of tree.querySelectorAll('.chev')) chevron.setAttribute('role', 'button')
  for (const link of tree.querySelectorAll<HTMLElement>('ul a')) link.tabIndex = -1
  makeStop(tree, tree.querySelector<HTMLElement>('.t[aria-current]') ?? tree.querySelector<HTMLElement>('.t'))
}

/** Lets Tab reach this link, and no other of the tree. */
function makeStop(tree: HTMLElement, link: HTMLElement | null): void {
  for (const other of tree.querySelectorAll<HTMLElement>('[tabindex="0"]')) other.tabIndex = -1
  if (link) link.tabIndex = 0
}

/** Lets a page be dropped on another that is neither its parent nor below it. */
function takeDrags(tree: HTMLElement): void {
  let dragged: HTMLElement | null = null
  let over: HTMLElement | null = null
  const mark = (next: HTMLElement | null) => {
    over?.classList.remove('over')
    over = next
    over?.classList.add('over')
  }
  tree.addEventListener('dragstart', ({ target }) => {
    dragged = itemAt(target)
  })
  tree.addEventListener('dragover', (event) => {
    const target = itemAt(event.target)
    const isPossible = dragged && target && !dragged.contains(target) && target.dataset.id !== dragged.dataset.parent
    mark(isPossible ? target : null)
    if (isPossible) event.preventDefault()
  })
  tree.addEventListener('dragleave', ({ relatedTarget }) => {
    if (!itemAt(relatedTarget)) mark(null)
  })
  tree.addEventListener('drop', (event) => {
    const [item, target] = [dragged, over]
    if (!item || !target) return
    event.preventDefault()
    void import('./tree-move.ts').then(({ move }) => move(tree, item, target, (id) => redraw(tree, id)))
  })
  document.addEventListener('dragend', () => {
    mark(null)
    dragged = null
  })
}

/** Shows the tree as it is now, with the level below a node open. */
async function redraw(tree: HTMLElement, id: string): Promise<void> {
  const answer = await fetch(location.href).catch(() => undefined)
  if (!answer?.ok) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  for (const list of tree.querySelectorAll(':scope > ul')) list.remove()
  tree.querySelector('.close')?.after(...page.querySelectorAll('[data-tree] > ul'))
  adopt(tree)
  remember([...remembered(), id].slice(-most.levels))
  await reopen(tree)
}

/** Scrolls the tree so that the current page is in its middle. */
function showCurrent(tree: HTMLElement): void {
  const current = tree.querySelector('[aria-current]')
  if (!current) return
  const { top, height } = current.getBoundingClientRect()
  tree.scrollTop += top + height / 2 - tree.getBoundingClientRect().top - tree.clientHeight / 2
}

/** Opens the levels that were open on the page before. The current page keeps its place on the screen. */
async function reopen(tree: HTMLElement): Promise<void> {
  const known = remembered()
  const current = tree.querySelector('[aria-current]')
  for (let at = 0; at < known.length; at++) {
    const chevron = tree.querySelector<HTMLElement>(`[data-id="${CSS.escape(known[at] ?? '')}"] > .row > .chev`)
    if (!chevron || isExpanded(chevron)) continue
    const before = current?.getBoundingClientRect().top ?? 0
    await setOpen(chevron, true)
    tree.scrollTop += (current?.getBoundingClientRect().top ?? 0) - before
  }
}

async function toggle(chevron: HTMLElement): Promise<void> {
  const id = itemOf(chevron)?.dataset.id ?? ''
  const isOpen = !isExpanded(chevron)
  const others = remembered().filter((one) => one !== id)
  remember(isOpen ? [...others, id].slice(-most.levels) : others)
  if (!(await setOpen(chevron, isOpen))) location.assign(chevron.getAttribute('href') ?? '')
}

/** Shows or hides the level below. The first time, it is fetched. False if the request fails. */
async function setOpen(chevron: HTMLElement, isOpen: boolean): Promise<boolean> {
  const item = itemOf(chevron)
  if (!item) return true
  const level = item.querySelector<HTMLElement>(':scope > ul')
  if (level) level.hidden = !isOpen
  else if (isOpen && !(await loadLevel(item))) return false
  chevron.setAttribute('aria-expanded', String(isOpen))
  return true
}

/** Fetches the children of an item and shows them. False if the request fails. */
async function loadLevel(item: HTMLElement): Promise<boolean> {
  const { id = '' } = item.dataset
  const level = await fetchJson<Level>(`tree?under=${id}&limit=${most.nodes}`)
  if (!level) return false
  const list = document.createElement('ul')
  list.append(...level.nodes.map((node) => itemFor(item, node)))
  if (level.total > level.nodes.length) {
    const more = document.createElement('li')
    more.className = 'more'
    const link = document.createElement('a')
    link.href = `${pathOf(id)}/subpages`
    link.textContent = `All ${level.total.toLocaleString('en')} pages`
    link.tabIndex = -1
    more.append(link)
    list.append(more)
  }
  item.querySelector(':scope > ul')?.remove()
  item.append(list)
  return true
}

/** Makes an item of the tree. Its parent is the model. */
function itemFor(parent: HTMLElement, { id, title, num_children }: Node): HTMLElement {
  const item = document.createElement('li')
  item.dataset.id = id
  item.dataset.parent = parent.dataset.id
  const row = parent.querySelector('.row')?.cloneNode(true)
  if (!(row instanceof HTMLElement)) return item
  const link = row.querySelector<HTMLAnchorElement>('.t')
  if (!link) return item
  link.href = pathOf(id, title)
  link.removeAttribute('aria-current')
  link.textContent = title
  link.title = title
  link.tabIndex = -1
  row.querySelector('.move')?.remove()
  const add = row.querySelector<HTMLAnchorElement>('.add')
  if (add) {
    add.href = `${pathOf()}/new?parent=${id}`
    add.setAttribute('aria-label', `New page under ${title}`)
  }
  const [chevron, count] = ['.chev', '.n'].map((part) => row.querySelector<HTMLElement>(part))
  if (num_children === 0) {
    chevron?.remove()
    count?.remove()
  } else if (chevron && count) {
    chevron.setAttribute('aria-expanded', 'false')
    chevron.setAttribute('aria-label', `Subpages of ${title}`)
    chevron.setAttribute('href', `${pathOf(id, title)}/subpages`)
    count.textContent = num_children.toLocaleString('en')
  }
  item.append(row)
  return item
}

/** Moves the focus as in a tree of the ARIA authoring practices. */
function press(tree: HTMLElement, event: KeyboardEvent): void {
  const { key, target } = event
  const item = target instanceof Element ? itemOf(target) : null
  if (!item || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
  const chevron = item.querySelector<HTMLElement>(':scope > .row > .chev')
  const isOpen = chevron !== null && isExpanded(chevron)
  const links = [...tree.querySelectorAll<HTMLElement>(stops)].filter(({ offsetParent }) => offsetParent)
  const link = item.querySelector<HTMLElement>('.t')
  const at = target instanceof HTMLElement ? links.indexOf(target) : -1
  const isMore = at >= 0 && target !== link
  let next: HTMLElement | null | undefined = link
  if (key === 'ArrowDown') next = links[at + 1]
  else if (key === 'ArrowUp') next = links[at - 1]
  else if (key === 'Home') next = links[0]
  else if (key === 'End') next = links.at(-1)
  else if (isMore && key === 'ArrowRight') return
  else if (isMore && key === 'ArrowLeft') next = link
  else if (key === 'ArrowRight' && isOpen) next = item.querySelector<HTMLElement>(':scope > ul .t')
  else if (key === 'ArrowLeft' && !isOpen) next = itemOf(item.parentElement)?.querySelector<HTMLElement>('.t')
  else if (chevron && (key === 'ArrowRight' || key === 'ArrowLeft')) void toggle(chevron)
  else return
  event.preventDefault()
  next?.focus()
}

function itemAt(target: EventTarget | null): HTMLElement | null {
  return target instanceof Node ? itemOf(target instanceof Element ? target : target.parentElement) : null
}

function itemOf(element: Element | null): HTMLElement | null {
  return element?.closest<HTMLElement>('li[data-id]') ?? null
}

function isExpanded(chevron: Element): boolean {
  return chevron.getAttribute('aria-expanded') === 'true'
}

/** Returns the ids of the levels that the user opened, the latest last. */
function remembered(): readonly string[] {
  try {
    return sessionStorage.getItem(memory)?.split(' ') ?? []
  } catch {
    return []
  }
}

function remember(ids: readonly string[]): void {
  try {
    sessionStorage.setItem(memory, ids.join(' '))
  } catch {
    // Storage may be full or forbidden.
  }
}
