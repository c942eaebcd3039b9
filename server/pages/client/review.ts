/** The conversation of a proposal: comments in place, reviews, drafts and keys. */

import * as limits from '../../base/limits.ts'
import { fieldsOf, lineText, type Place, placeOfLink, rowOf, selectedPlace, setField } from './review-places.ts'
import { type Collected, type Draft, isBlank, TalkStore } from './review-store.ts'

/** Milliseconds until a selection is settled. */
const settledMs = 200

type TalkForm = HTMLFormElement & { readonly dataset: { talk?: string } }

export function openTalk(main: HTMLElement): void {
  const store = new TalkStore(main.dataset.discussion ?? '')
  const reviewForm = main.querySelector<TalkForm>('form[data-review]')
  new Talk(main, store, reviewForm).start()
}

class Talk {
  private readonly main: HTMLElement
  private readonly store: TalkStore
  private readonly reviewForm: TalkForm | null
  private readonly offer = document.createElement('div')
  private selected: Place | undefined

  constructor(main: HTMLElement, store: TalkStore, reviewForm: TalkForm | null) {
    this.main = main
    this.store = store
    this.reviewForm = reviewForm
  }

  start(): void {
    this.takeReceipt()
    for (const form of this.main.querySelectorAll<TalkForm>('form[data-talk]')) this.adopt(form)
    this.reopenDrafts()
    this.showCollected()
    this.main.addEventListener('click', (event) => this.openByLink(event))
    Object.assign(this.offer, { className: 'offer', hidden: true })
    // The press must not clear the selection.
    this.offer.addEventListener('pointerdown', (event) => event.preventDefault())
    for (const name of ['Comment', 'Suggest']) {
      const button = Object.assign(document.createElement('button'), { className: 'btn small', type: 'button' })
      button.textContent = name
      button.addEventListener(
        'click',
        () => this.selected && this.openForm(this.selected, { suggests: name === 'Suggest' }),
      )
      this.offer.append(button)
    }
    this.main.append(this.offer)
    let timer: ReturnType<typeof setTimeout> | undefined
    document.addEventListener('selectionchange', () => {
      clearTimeout(timer)
      timer = setTimeout(() => this.offerComment(), settledMs)
    })
    document.addEventListener('shortcut', (event) => {
      if (event instanceof CustomEvent && this.press(String(event.detail))) event.preventDefault()
    })
  }

  /** Removes the draft whose form was accepted. The page that follows a form names it. */
  private takeReceipt(): void {
    const url = new URL(location.href)
    const sent = url.searchParams.get('sent')
    if (sent === null) return
    this.store.removeDraft(sent)
    if (sent === 'review') this.store.collect([])
    url.searchParams.delete('sent')
    history.replaceState(null, '', url)
  }

  /** Keeps the text of a form as a draft until the form is accepted. */
  private adopt(form: TalkForm): void {
    const { talk = '' } = form.dataset
    const field = form.querySelector<HTMLTextAreaElement>('textarea[name="text"]')
    if (!field || talk === '') return
    const isRefused = 'refused' in form.dataset
    const draft = this.store.draft(talk)
    const refused = this.main.querySelector<TalkForm>('form[data-refused]')
    if (!isRefused && draft !== undefined && refused?.dataset.talk !== talk) restore(form, field, draft)
    form.addEventListener('input', () => this.store.keepDraft(talk, { text: field.value, fields: fieldsOf(form) }))
    form.addEventListener('submit', () => setField(form, 'draft', talk))
    form.addEventListener('keydown', (event) => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey))
        form.requestSubmit(form.querySelector<HTMLElement>('button[type="submit"]'))
    })
    if (!isRefused && this.reviewForm && /^(new .|answer )/.test(talk)) this.offerReview(form, field)
  }

  /** Adds the button that collects the comment into a review. */
  private offerReview(form: TalkForm, field: HTMLTextAreaElement): void {
    const button = document.createElement('button')
    Object.assign(button, { className: 'btn small', type: 'button', textContent: this.collectWords() })
    button.dataset.collect = ''
    button.addEventListener('click', () => {
      const collected = this.store.collected()
      const one = { text: field.value, fields: fieldsOf(form) }
      if (isBlank(one) || collected.length >= limits.reviewComments) {
        field.focus()
        return
      }
      const { talk = '' } = form.dataset
      this.store.collect([...collected, one])
      this.store.removeDraft(talk)
      field.value = ''
      if (talk.startsWith('new')) form.remove()
      this.showCollected()
      this.main.querySelector<HTMLElement>('.pending:last-of-type')?.focus()
    })
    form.querySelector('button[value="comment"], button[value="answer"]')?.after(button)
  }

  private collectWords(): string {
    return this.store.collected().length === 0 ? 'Start review' : 'Add to review'
  }

  /** Shows the collected comments in the box of the review and at their places. */
  private showCollected(): void {
    const collected = this.store.collected()
    const box = this.reviewForm?.querySelector<HTMLElement>('[data-collected]')
    if (!this.reviewForm || !box) return
    setField(this.reviewForm, 'comments', collected.length === 0 ? '' : JSON.stringify(collected.map(toComment)))
    box.hidden = collected.length === 0
    const title = Object.assign(document.createElement('p'), {
      className: 'why',
      textContent: `${collected.length} comment${collected.length === 1 ? '' : 's'} in this review, not submitted yet:`,
    })
    const list = document.createElement('ul')
    for (const [at, one] of collected.entries()) list.append(this.collectedItem(one, at))
    box.replaceChildren(title, list)
    for (const old of this.main.querySelectorAll('.pending')) old.remove()
    for (const one of collected) this.showPending(one)
    for (const button of this.main.querySelectorAll('[data-collect]')) button.textContent = this.collectWords()
  }

  private collectedItem({ text, fields }: Collected, at: number): HTMLLIElement {
    const item = document.createElement('li')
    const where = fields.path
      ? `${fields.path}${fields.first_line ? `:${fields.first_line}` : ''}`
      : `thread ${fields.thread}`
    const said = Object.assign(document.createElement('span'), {
      textContent: `${where}: ${wordsOf(text, fields).slice(0, 80)}`,
    })
    const remove = Object.assign(document.createElement('button'), {
      className: 'btn small',
      type: 'button',
      textContent: 'Remove',
    })
    remove.addEventListener('click', () => {
      this.store.collect(this.store.collected().filter((_, index) => index !== at))
      this.showCollected()
    })
    item.append(said, remove)
    return item
  }

  private showPending({ text, fields }: Collected): void {
    const card = Object.assign(document.createElement('div'), { className: 'pending', tabIndex: -1 })
    card.append(
      Object.assign(document.createElement('p'), {
        className: 'why',
        textContent: 'In your review, not submitted yet',
      }),
      Object.assign(document.createElement('p'), { textContent: wordsOf(text, fields) }),
    )
    if (fields.thread) {
      this.main.querySelector(`#t${CSS.escape(fields.thread)} .answer`)?.before(card)
      return
    }
    const side = fields.commit === this.main.dataset.head ? 'head' : 'base'
    const row = rowOf(this.main, { path: fields.path ?? '', side, line: Number(fields.last_line) })
    if (row) afterNotes(row).after(card)
  }

  /** Opens the forms of drafts in place. */
  private reopenDrafts(): void {
    for (const { key, draft } of this.store.drafts()) {
      const { path, first_line: first, last_line: last, exact, prefix, suffix } = draft.fields
      const side = /^new (head|base) /.exec(key)?.[1]
      if (side === undefined || path === undefined || isBlank(draft)) continue
      if ([...this.main.querySelectorAll<TalkForm>('form[data-talk]')].some(({ dataset }) => dataset.talk === key))
        continue
      const quote = exact === undefined ? {} : { quote: { exact, prefix: prefix ?? '', suffix: suffix ?? '' } }
      this.openForm(
        { path, side: side === 'base' ? 'base' : 'head', first: Number(first), last: Number(last), ...quote },
        { hasFocus: false, suggests: key.endsWith(' suggest') },
      )
    }
  }

  private openByLink(event: MouseEvent): void {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a.ln') : null
    if (!link || event.ctrlKey || event.metaKey || event.button !== 0) return
    const place = placeOfLink(link)
    if (place && this.openForm(place)) event.preventDefault()
  }

  /** Opens the form of a new thread below its line. Returns false if the line is not shown. */
  private openForm(place: Place, { hasFocus = true, suggests = false } = {}): boolean {
    const template = this.main.querySelector<HTMLTemplateElement>('template[data-new]')
    const row = rowOf(this.main, { path: place.path, side: place.side, line: place.last })
    const form = template?.content.querySelector('form')?.cloneNode(true)
    if (!row || !(form instanceof HTMLFormElement)) return false
    const original = place.side === 'base' ? undefined : (place.quote?.exact ?? this.onlyLine(place, row))
    if (suggests && original === undefined) return false
    const key = `new ${place.side} ${place.path}:${place.first}${suggests ? ' suggest' : ''}`
    const open = [...this.main.querySelectorAll<TalkForm>('form[data-talk]')].find(
      ({ dataset }) => dataset.talk === key,
    )
    open?.remove()
    form.dataset.talk = key
    form.removeAttribute('id')
    const { head = '', base = '' } = this.main.dataset
    setField(form, 'path', place.path)
    setField(form, 'commit', place.side === 'base' ? base : head)
    setField(form, 'first_line', String(place.first))
    setField(form, 'last_line', String(place.last))
    for (const [name, value] of Object.entries(place.quote ?? {})) setField(form, name, value)
    form.querySelector('[data-about]')?.replaceChildren(place.side === 'base' ? 'About removed lines' : 'About lines')
    form.querySelector('.ref')?.replaceChildren(place.path)
    if (place.quote) {
      const quoted = Object.assign(document.createElement('blockquote'), { className: 'quoted' })
      quoted.textContent = place.quote.exact
      form.querySelector('.about')?.after(quoted)
    }
    form.querySelector('a.btn')?.addEventListener('click', (event) => {
      event.preventDefault()
      this.store.removeDraft(key)
      form.remove()
      row.querySelector<HTMLElement>('a.ln')?.focus()
    })
    afterNotes(row).after(form)
    if (suggests && original !== undefined) this.suggest(form, original, hasFocus)
    else {
      this.offerSuggestion(form, place, original !== undefined)
      this.adopt(form)
      if (hasFocus) form.querySelector<HTMLElement>('textarea:enabled')?.focus()
    }
    this.offer.hidden = true
    return true
  }

  /** The text of the place, if it is one line. */
  private onlyLine({ first, last }: Place, row: Element): string | undefined {
    return first === last ? lineText(row) : undefined
  }

  /** Turns the form into one that suggests a text. Its script is loaded when it is first needed. */
  private suggest(form: TalkForm, original: string, hasFocus: boolean): void {
    void import('./suggest.ts').then(({ openSuggestion }) => {
      openSuggestion(form, original, this.store.draft(form.dataset.talk ?? '')?.fields.suggestion)
      this.adopt(form)
      if (hasFocus) form.querySelector<HTMLElement>('[data-suggest] textarea')?.focus()
    })
  }

  /** The link of the form opens another one for the same place. */
  private offerSuggestion(form: TalkForm, place: Place, canSuggest: boolean): void {
    const link = form.querySelector('[data-suggest-link]')
    if (!canSuggest) link?.remove()
    link?.addEventListener('click', (event) => {
      event.preventDefault()
      if (this.openForm(place, { suggests: true })) form.remove()
    })
  }

  /** Shows the button next to selected words. */
  private offerComment(): void {
    const selection = getSelection()
    this.selected = selection ? selectedPlace(selection) : undefined
    this.offer.hidden = this.selected === undefined || !this.main.querySelector('template[data-new]')
    const suggest = this.offer.querySelector<HTMLElement>('button:last-child')
    if (suggest) suggest.hidden = !this.selected?.quote || this.selected.side === 'base'
    if (this.offer.hidden || !selection) return
    const { right, bottom } = selection.getRangeAt(0).getBoundingClientRect()
    const left = Math.min(right, document.documentElement.clientWidth - this.offer.offsetWidth - 8)
    this.offer.style.left = `${Math.max(8, left) + scrollX}px`
    this.offer.style.top = `${bottom + 6 + scrollY}px`
  }

  /** Acts on a key. Returns true if it did something. */
  private press(key: string): boolean {
    const active = document.activeElement
    if (key === 'c') return this.pressComment(active)
    if (key === 's') return this.pressSuggest(active)
    if (key === 'v') return focusIn(this.reviewForm?.querySelector('input[type="radio"]:checked, textarea'))
    if (key === '.' || key === ',') return this.step(key === '.' ? 1 : -1, active)
    if (key !== 'x') return false
    const button = active
      ?.closest('.thread')
      ?.querySelector<HTMLElement>('button[value="resolve"], button[value="reopen-thread"]')
    button?.click()
    return button !== null && button !== undefined
  }

  private pressSuggest(active: Element | null): boolean {
    const link = active?.closest('.row')?.querySelector<HTMLAnchorElement>('a.ln')
    const place = this.selected ?? (link ? placeOfLink(link) : undefined)
    return place !== undefined && this.openForm(place, { suggests: true })
  }

  private pressComment(active: Element | null): boolean {
    if (this.selected) return this.openForm(this.selected)
    const link = active?.closest('.row')?.querySelector<HTMLAnchorElement>('a.ln')
    const place = link ? placeOfLink(link) : undefined
    if (place) return this.openForm(place)
    return focusIn(active?.closest('.thread')?.querySelector('textarea') ?? this.main.querySelector('#new textarea'))
  }

  /** Moves the focus to the next or previous open thread. */
  private step(by: 1 | -1, active: Element | null): boolean {
    const threads = [...this.main.querySelectorAll<HTMLElement>('.thread[data-open]')]
    const before = active?.closest<HTMLElement>('.thread[data-open]')
    const at = before ? threads.indexOf(before) + by : by > 0 ? 0 : threads.length - 1
    const next = threads[Math.max(0, Math.min(at, threads.length - 1))]
    next?.closest('details')?.setAttribute('open', '')
    return focusIn(next)
  }
}

/** The last note below a row: threads, forms and pending comments follow it. */
function afterNotes(row: Element): Element {
  let last = row
  while (last.nextElementSibling?.matches('.thread, .comment-form, .pending')) last = last.nextElementSibling
  return last
}

/** Puts a draft into its form. */
function restore(form: TalkForm, field: HTMLTextAreaElement, { text, fields: { suggestion } }: Draft): void {
  field.value = text
  const suggested = form.querySelector<HTMLTextAreaElement>('textarea[name="suggestion"]:enabled')
  if (suggested && suggestion !== undefined) suggested.value = suggestion
}

function focusIn(element: Element | null | undefined): boolean {
  if (!(element instanceof HTMLElement)) return false
  element.focus()
  element.scrollIntoView({ block: 'center' })
  return true
}

/** The words of a comment, after the text that it suggests. */
function wordsOf(text: string, { suggestion, original }: Collected['fields']): string {
  return `${suggestion === original ? '' : `Suggestion: ${suggestion}\n`}${text.trim()}`
}

/** Returns the comment as the API takes it. */
function toComment({ text, fields }: Collected): object {
  const { thread, path, commit, first_line: first, last_line: last, exact, prefix = '', suffix = '' } = fields
  const { suggestion, original } = fields
  if (thread) return { text, thread: Number(thread) }
  const lines = first ? { first_line: Number(first), num_lines: Number(last) - Number(first) + 1 } : {}
  const quote = exact ? { quote: { exact, ...(prefix && { prefix }), ...(suffix && { suffix }) } } : {}
  return {
    text,
    anchor: { path, commit, ...lines, ...quote },
    ...(suggestion !== original && { suggestion }),
  }
}
