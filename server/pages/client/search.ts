/** Results while a search is typed: titles at once, texts after a pause. Arrows choose, Enter opens; without a choice the form is sent. */

import { grove } from '../../../spec/client/client.ts'
import { pathOf } from './asking.ts'

interface Hit {
  readonly id: string
  readonly title: string
  /** Empty of a title. */
  readonly snippet: string
}

/** Of each kind; milliseconds without typing before texts are searched. */
const most = { titles: 6, texts: 5 } as const
const pauseMs = 180

const { root = '', org = '' } = document.body.dataset
const api = grove({ url: root })
const path = { org_id: org }
let lists = 0

export function suggestIn(form: HTMLFormElement): void {
  const input = form.querySelector('input')
  if (!input || input.role === 'combobox') return
  const list = document.createElement('div')
  list.className = 'results drop'
  list.id = `hits-${++lists}`
  list.role = 'listbox'
  list.ariaLabel = 'Results'
  list.hidden = true
  form.parentElement?.append(list)
  input.role = 'combobox'
  input.setAttribute('aria-controls', list.id)
  input.setAttribute('aria-autocomplete', 'list')
  let asked = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let chosen = -1

  // The answer for the last letter may come after an arrow has chosen: a hit that it still has stays chosen.
  const show = (hits: readonly Hit[]) => {
    const before = list.querySelectorAll('a')[chosen]?.href
    const options = hits.map((hit, at) => option(hit, `${list.id}-${at}`))
    list.replaceChildren(...options)
    choose(options.findIndex(({ href }) => href === before))
    open(hits.length > 0)
  }
  const open = (isOpen: boolean) => {
    list.hidden = !isOpen
    input.ariaExpanded = String(isOpen)
  }
  const choose = (at: number) => {
    const options = [...list.children]
    chosen = options.length === 0 ? -1 : Math.max(-1, Math.min(at, options.length - 1))
    for (const [index, one] of options.entries()) one.ariaSelected = String(index === chosen)
    const one = options[chosen]
    if (one) {
      input.setAttribute('aria-activedescendant', one.id)
      one.scrollIntoView({ block: 'nearest' })
    } else input.removeAttribute('aria-activedescendant')
  }
  const typed = async () => {
    const words = input.value.trim()
    const turn = ++asked
    clearTimeout(timer)
    choose(-1)
    if (words === '') {
      show([])
      return
    }
    const titles = await suggest(words)
    if (turn !== asked) return
    show(titles)
    timer = setTimeout(async () => {
      const texts = await retrieve(words)
      const known = new Set(titles.map(({ id }) => id))
      if (turn === asked && chosen < 0) show([...titles, ...texts.filter(({ id }) => !known.has(id))])
    }, pauseMs)
  }
  input.addEventListener('input', typed)
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      choose(chosen + (event.key === 'ArrowDown' ? 1 : -1))
    } else if (event.key === 'Escape') {
      if (list.hidden) input.blur()
      else open(false)
    } else if (event.key === 'Enter' && chosen >= 0 && !list.hidden) {
      event.preventDefault()
      list.querySelectorAll('a')[chosen]?.click()
    }
  })
  form.parentElement?.addEventListener('focusout', ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node) || !form.parentElement?.contains(relatedTarget)) open(false)
  })
  input.addEventListener('focus', () => open(list.children.length > 0))
  if (input.value !== input.defaultValue) void typed()
}

function option({ id, title, snippet }: Hit, name: string): HTMLAnchorElement {
  const link = document.createElement('a')
  link.role = 'option'
  link.id = name
  link.href = pathOf(id)
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

/** None where no answer comes: the form can still be sent. */
async function suggest(words: string): Promise<Hit[]> {
  const query = { q: words.slice(0, 200), limit: most.titles }
  const { suggestions } = await api.suggestTitles({ path, query }).catch(() => ({ suggestions: [] }))
  return suggestions.map(({ node_id, title }) => ({ id: node_id, title, snippet: '' }))
}

async function retrieve(words: string): Promise<Hit[]> {
  const body = { query: words, top_k: most.texts }
  const { matches } = await api.searchNodes({ path, body }).catch(() => ({ matches: [] }))
  return matches.map(({ node_id, title, snippet }) => ({ id: node_id, title, snippet }))
}
