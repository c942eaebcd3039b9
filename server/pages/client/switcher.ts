/** The quick switcher: a dialog that finds pages of all organisations, and actions. */

import {
  actions,
  currentOrg,
  type Destination,
  fullSearch,
  listOrgs,
  matching,
  orgPlaces,
  reasonOf,
  recents,
  type Searched,
  searchTitles,
} from './destinations.ts'

/** Maximum destinations of each kind. */
const most = { recents: 8, pages: 20, orgs: 5, actions: 40, found: 6 } as const
/** Milliseconds without typing before titles are searched. */
const pauseMs = 120

let current: Switcher | undefined

/** Opens the switcher, or closes it if it is open. */
export function toggleSwitcher(): void {
  if (current) current.close()
  else current = new Switcher()
}

interface Group {
  readonly name: string
  readonly items: readonly Destination[]
}

class Switcher {
  readonly #dialog = document.createElement('dialog')
  readonly #input = document.createElement('input')
  readonly #list = document.createElement('div')
  readonly #status = element('p', { className: 'said', role: 'status' })
  readonly #problem = element('p', { className: 'problem', role: 'alert', hidden: true })
  readonly #closed = new AbortController()
  readonly #orgs: Promise<readonly Searched[]>
  #known: readonly Searched[] = currentOrg ? [currentOrg] : []
  /** The titles found for `#words`, or for the beginning of it. */
  #pages: readonly Destination[] = []
  #items: readonly Destination[] = []
  #chosen = 0
  /** True if the user has chosen an item since the last letter. */
  #isMoved = false
  /** True until the first answer for the last letter. */
  #isPending = false
  /** Set if Enter was pressed before that answer. */
  #opensNext: 'here' | 'tab' | undefined
  #search = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor() {
    this.#build()
    this.#orgs = listOrgs(this.#closed.signal)
    void this.#orgs.then(
      (orgs) => {
        this.#known = orgs
        this.#show()
      },
      (error: unknown) => this.#complain([`Your organisations could not be listed. ${reasonOf(error)}`]),
    )
    this.#show()
    this.#announce()
    this.#dialog.showModal()
  }

  close(): void {
    this.#dialog.close()
  }

  get #words(): string {
    return this.#input.value.trim()
  }

  #build(): void {
    const dialog = this.#dialog
    dialog.className = 'switcher'
    dialog.ariaLabel = 'Go to a page or an action'
    Object.assign(this.#list, { id: 'switcher-list', role: 'listbox' })
    this.#list.ariaLabel = 'Pages and actions'
    Object.assign(this.#input, {
      ...{
        type: 'text',
        role: 'combobox',
        ariaExpanded: 'true',
        autocomplete: 'off',
        spellcheck: false,
        maxLength: 200,
      },
      ...{ placeholder: 'Go to a page or an action', ariaLabel: 'Go to a page or an action' },
    })
    this.#input.setAttribute('aria-controls', this.#list.id)
    this.#input.setAttribute('aria-autocomplete', 'list')
    this.#input.addEventListener('input', () => this.#typed())
    const close = element('button', { className: 'btn quiet small', type: 'button', textContent: 'Close' })
    close.addEventListener('click', () => dialog.close())
    const top = element('div', { className: 'switcher-top' })
    top.append(this.#input, close)
    dialog.append(top, this.#problem, this.#list, this.#status)
    dialog.addEventListener('keydown', (event) => this.#act(event))
    dialog.addEventListener('click', ({ target }) => {
      if (target === dialog) dialog.close()
    })
    // The browser restores the focus.
    dialog.addEventListener('close', () => {
      current = undefined
      clearTimeout(this.#timer)
      this.#search.abort()
      this.#closed.abort()
      dialog.remove()
    })
    document.body.append(dialog)
  }

  /** Filters what is known immediately, and searches after a pause. The search before is aborted. */
  #typed(): void {
    clearTimeout(this.#timer)
    this.#search.abort()
    this.#search = new AbortController()
    this.#isMoved = false
    this.#opensNext = undefined
    this.#complain([])
    this.#chosen = 0
    const words = this.#words
    this.#isPending = words !== ''
    this.#pages = words === '' ? [] : matching(this.#pages, words)
    this.#show()
    this.#status.textContent = ''
    if (words === '') this.#announce()
    else this.#timer = setTimeout(() => void this.#find(words, this.#search.signal), pauseMs)
  }

  async #find(words: string, signal: AbortSignal): Promise<void> {
    const problems = await searchTitles(words, this.#orgs, signal, (pages) => {
      this.#pages = pages
      this.#show()
      if (pages.length > 0) this.#answered()
    })
    if (signal.aborted) return
    this.#complain(problems)
    this.#announce()
    this.#answered()
  }

  /** Opens the choice if the user has pressed Enter before the answer. */
  #answered(): void {
    this.#isPending = false
    const where = this.#opensNext
    this.#opensNext = undefined
    if (where) this.#open(this.#items[this.#chosen], where === 'tab')
  }

  #groups(): Group[] {
    const words = this.#words
    const all = actions(this.#known)
    if (words === '')
      return [
        { name: 'Recent pages', items: recents().slice(0, most.recents) },
        { name: 'Actions', items: all.slice(0, most.actions) },
      ]
    const read = matching(recents(), words)
    const pages = [...new Map([...read, ...this.#pages].map((page) => [page.key, page])).values()]
    return [
      { name: 'Pages', items: pages.slice(0, most.pages) },
      { name: 'Organisations', items: matching(orgPlaces(this.#known), words).slice(0, most.orgs) },
      { name: 'Actions', items: [...matching(all, words).slice(0, most.found), ...fullSearch(words)] },
    ]
  }

  /** Draws the list. The choice of the user stays on its destination, at any place. */
  #show(): void {
    const before = this.#items[this.#chosen]?.key
    const groups = this.#groups().filter(({ items }) => items.length > 0)
    this.#items = groups.flatMap(({ items }) => items)
    let at = 0
    this.#list.replaceChildren(
      ...groups.map(({ name, items }, index) => {
        const title = element('div', { className: 'group', id: `switcher-group-${index}`, textContent: name })
        const group = element('div', { role: 'group' })
        group.setAttribute('aria-labelledby', title.id)
        group.append(title, ...items.map((item) => this.#option(item, at++)))
        return group
      }),
    )
    const same = this.#isMoved ? this.#items.findIndex(({ key }) => key === before) : 0
    this.#choose(Math.max(0, same))
  }

  #option({ label, note, href, button }: Destination, at: number): HTMLElement {
    const option = href === undefined ? element('div', {}) : element('a', { href, tabIndex: -1 })
    Object.assign(option, { id: `switcher-${at}`, role: 'option' })
    option.append(element('span', { className: 't', textContent: label }))
    if (note) option.append(element('small', { textContent: note }))
    option.addEventListener('click', () => {
      this.#dialog.close()
      button?.click()
    })
    return option
  }

  #choose(at: number): void {
    const options = this.#list.querySelectorAll<HTMLElement>('[role="option"]')
    const count = options.length
    this.#chosen = count === 0 ? 0 : (at + count) % count
    for (const [index, option] of options.entries()) option.ariaSelected = String(index === this.#chosen)
    const option = options[this.#chosen]
    if (option === undefined) {
      this.#input.removeAttribute('aria-activedescendant')
      return
    }
    this.#input.setAttribute('aria-activedescendant', option.id)
    // The heading of the first group is above its first option.
    if (this.#chosen === 0) this.#list.scrollTop = 0
    else option.scrollIntoView({ block: 'nearest' })
  }

  #act(event: KeyboardEvent): void {
    const { key, ctrlKey, metaKey, isComposing } = event
    if (isComposing) return
    const steps: Partial<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[key]
    if (step !== undefined) {
      event.preventDefault()
      this.#isMoved = true
      this.#choose(this.#chosen + step)
    } else if (key === 'Enter' && event.target === this.#input) {
      event.preventDefault()
      const isTab = ctrlKey || metaKey
      if (this.#isPending && !this.#isMoved) this.#opensNext = isTab ? 'tab' : 'here'
      else this.#open(this.#items[this.#chosen], isTab)
    }
  }

  #open(item: Destination | undefined, isTab: boolean): void {
    if (item === undefined) return
    if (item.href !== undefined && isTab) {
      window.open(item.href, '_blank', 'noopener')
      return
    }
    this.#dialog.close()
    if (item.href === undefined) item.button?.click()
    else location.assign(item.href)
  }

  #complain(problems: readonly string[]): void {
    this.#problem.textContent = problems.join(' ')
    this.#problem.hidden = problems.length === 0
  }

  /** Says how many results there are. */
  #announce(): void {
    const { length } = this.#items
    this.#status.textContent =
      length === 0
        ? 'Nothing begins with these words.'
        : `${length} ${length === 1 ? 'result' : 'results'}. Arrow keys choose, Enter opens.`
  }
}

function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  fields: Partial<HTMLElementTagNameMap[K]>,
): HTMLElementTagNameMap[K] {
  return Object.assign(document.createElement(name), fields)
}
