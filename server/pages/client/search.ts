/**
 * Shows results while the user types: titles immediately, texts after a pause. Arrow keys select, Enter opens. Without a
 * selection, Enter sends the form.
 */

import { grove } from '../../../spec/client/client.ts'
import { pathOf } from './paths.ts'

interface Hit {
  readonly id: string
  readonly title: string
  /** '' for a hit by title. */
  readonly snippet: string
}

/** Maximum hits of each kind; milliseconds without typing before texts are searched. */
const most = { titles: 6, texts: 5 } as const
const pauseMs = 180

const { root = '', org = '' } = document.body.dataset
const api = grove({ url: root })
const path = { org_id: org }
let lists = 0

export function completeSearch(form: HTMLFormElement): void {
  const input = form.querySelector('input')
  if (!input || input.role === 'combobox') return
  const hits = new HitList(input, form.parentElement)
  let asked = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const typed = async () => {
    const words = input.value.trim()
    const turn = ++asked
    clearTimeout(timer)
    hits.choose(-1)
    if (words === '') {
      hits.show([])
      return
    }
    const titles = await suggest(words)
    if (turn !== asked) return
    hits.show(titles)
    timer = setTimeout(async () => {
      const texts = await retrieve(words)
      const known = new Set(titles.map(({ id }) => id))
      if (turn === asked && !hits.isChosen) hits.show([...titles, ...texts.filter(({ id }) => !known.has(id))])
    }, pauseMs)
  }
  input.addEventListener('input', typed)
  if (input.value !== input.defaultValue) void typed()
}

/** The list of hits below the field, which becomes a combobox. Escape closes the list, then leaves the field. */
class HitList {
  private readonly input: HTMLInputElement
  private readonly list = document.createElement('div')
  private chosen = -1

  constructor(input: HTMLInputElement, place: HTMLElement | null) {
    const { list } = this
    this.input = input
    Object.assign(list, { className: 'results drop', id: `hits-${++lists}`, role: 'listbox', hidden: true })
    list.ariaLabel = 'Results'
    place?.append(list)
    input.role = 'combobox'
    input.ariaExpanded = 'false'
    input.setAttribute('aria-controls', list.id)
    input.setAttribute('aria-autocomplete', 'list')
    input.addEventListener('keydown', (event) => this.act(event))
    place?.addEventListener('focusout', ({ relatedTarget }) => {
      if (!(relatedTarget instanceof Node) || !place.contains(relatedTarget)) this.open(false)
    })
    input.addEventListener('focus', () => this.open(list.children.length > 0))
  }

  get isChosen(): boolean {
    return this.chosen >= 0
  }

  /** Shows hits. A selected hit that is still in the list stays selected, because answers may come late. */
  show(hits: readonly Hit[]): void {
    const { list } = this
    const before = this.link()?.href
    const options = hits.map((hit, at) => option(hit, `${list.id}-${at}`))
    list.replaceChildren(...options)
    this.choose(options.findIndex(({ href }) => href === before))
    this.open(hits.length > 0)
  }

  /** Selects a hit; -1 for none. */
  choose(at: number): void {
    const { input } = this
    const options = [...this.list.children]
    this.chosen = options.length === 0 ? -1 : Math.max(-1, Math.min(at, options.length - 1))
    for (const [index, one] of options.entries()) one.ariaSelected = String(index === this.chosen)
    const one = options[this.chosen]
    if (one) {
      input.setAttribute('aria-activedescendant', one.id)
      one.scrollIntoView({ block: 'nearest' })
    } else input.removeAttribute('aria-activedescendant')
  }

  private open(isOpen: boolean): void {
    this.list.hidden = !isOpen
    this.input.ariaExpanded = String(isOpen)
  }

  private link(): HTMLAnchorElement | undefined {
    return this.list.querySelectorAll('a')[this.chosen]
  }

  private act(event: KeyboardEvent): void {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      this.choose(this.chosen + (event.key === 'ArrowDown' ? 1 : -1))
    } else if (event.key === 'Escape') {
      if (this.list.hidden) this.input.blur()
      else this.open(false)
    } else if (event.key === 'Enter' && this.isChosen && !this.list.hidden) {
      event.preventDefault()
      this.link()?.click()
    }
  }
}

function option({ id, title, snippet }: Hit, name: string): HTMLAnchorElement {
  const link = document.createElement('a')
  link.role = 'option'
  link.id = name
  link.href = pathOf(id, title)
  link.tabIndex = -1
  const head = document.createElement('span')
  head.className = 't'
  head.textContent = title
  link.append(head)
  if (snippet) {
    const text = document.createElement('p')
    text.textContent = snippet
    link.append(text)
  }
  return link
}

/** Returns hits by title; none if the request fails. The form can still be sent. */
async function suggest(words: string): Promise<Hit[]> {
  const query = { q: words.slice(0, 200), limit: most.titles }
  const { suggestions } = await api.suggestTitles({ path, query }).catch(() => ({ suggestions: [] }))
  return suggestions.map(({ node_id, title }) => ({ id: node_id, title, snippet: '' }))
}

async function retrieve(words: string): Promise<Hit[]> {
  // Half a question is not sent to a model, which may be slow and have a price.
  const body = { query: words, top_k: most.texts, mode: 'lexical' } as const
  const { matches } = await api.searchNodes({ path, body }).catch(() => ({ matches: [] }))
  return matches.map(({ node_id, title, snippet }) => ({ id: node_id, title, snippet }))
}
