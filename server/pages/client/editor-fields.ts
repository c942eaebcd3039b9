/** The editor's form: its fields, its messages, and the comparison after a conflict. */

import type { Edit, Source } from '../edits.ts'
import { editMessage, newMessage, withLineEnds } from '../edits.ts'
import { type Into, intoIn } from '../proposing.ts'
import type { KnownDraft } from './stored-draft.ts'

/** A text as it was when the edit began. */
export interface Begun extends Source {
  readonly isDos: boolean
}

export class Form {
  readonly element: HTMLFormElement
  readonly title: HTMLInputElement
  readonly message: HTMLInputElement
  readonly head: HTMLInputElement
  readonly text: HTMLTextAreaElement
  readonly preview: HTMLElement
  readonly attached: HTMLElement
  readonly pane: HTMLElement
  readonly acts: readonly HTMLButtonElement[]
  readonly toolbar: HTMLElement
  onFiles: (files: readonly File[]) => void = () => {}

  constructor(element: HTMLFormElement) {
    const one = <T extends HTMLElement>(selector: string): T => {
      const found = element.querySelector<T>(selector)
      if (!found) throw new Error(`The form has no ${selector}`)
      return found
    }
    this.element = element
    this.title = one('[name=title]')
    this.message = one('[name=message]')
    this.head = element.querySelector<HTMLInputElement>('[name=head]') ?? document.createElement('input')
    this.text = one('[data-text]')
    this.preview = one('[data-preview]')
    this.attached = one('[data-attached]')
    this.pane = one('[data-pane]')
    this.toolbar = one('[data-toolbar]')
    this.acts = [...element.querySelectorAll<HTMLButtonElement>('[name=act]')]
  }

  /** The act of Enter in a field, Ctrl+S and Ctrl+Enter. */
  get firstAct(): string {
    return this.acts[0]?.value ?? ''
  }

  get node(): string {
    return this.element.dataset.node ?? ''
  }

  get slug(): string {
    return this.element.dataset.slug ?? ''
  }

  /** The prefix of the only branches that the user may change; '' if all. */
  get branches(): string {
    return this.element.dataset.branches ?? ''
  }

  /** The branch of the proposal that is edited; undefined: main. */
  get branch(): string | undefined {
    return this.element.dataset.branch
  }

  /** The URL after saving to a proposal. */
  get next(): string | undefined {
    return this.element.dataset.next
  }

  /** Reads the node from the form that the service sent. After a conflict, that is their version. */
  source(): Begun {
    const { title = '', path = 'content.md', lines } = this.element.dataset
    const isDos = lines === 'dos'
    const text = this.element.querySelector('[data-theirs]')?.textContent ?? this.text.defaultValue
    return { head: this.head.value || null, title, text: withLineEnds(text, isDos), textPath: path, isDos }
  }

  /** Reads the position of a new node. */
  place(): { parent: string | undefined; from: string | undefined; named: string | undefined } {
    const value = (name: string) => this.element.querySelector<HTMLInputElement>(`[name=${name}]`)?.value || undefined
    return { parent: value('parent'), from: value('from'), named: value('named') }
  }

  get isNew(): boolean {
    return this.firstAct.startsWith('create')
  }

  /** The draft on the server that the page was opened with. */
  get continued(): KnownDraft | undefined {
    const { draftId: id, draftVersion: version } = this.element.dataset
    return id === undefined || version === undefined ? undefined : { id, version }
  }

  /** Returns the page that a draft is of. */
  drafted(): { node_id: string; is_new: boolean; branch: string } {
    return { node_id: this.node, is_new: this.isNew, branch: this.branch ?? 'main' }
  }

  /** Returns the other fields of a draft as a query. `panel`: tags and properties as a query. */
  others(panel: string): string {
    const all = new URLSearchParams(panel)
    for (const [name, value] of Object.entries(this.place())) if (value !== undefined) all.set(name, value)
    return all.toString()
  }

  /** Returns the URL of the editor with a draft on the server. */
  continuing(id: string): string {
    const url = new URL(location.href)
    url.searchParams.set('draft', id)
    return url.href
  }

  /** Shows where the draft is. */
  kept(problem?: string): void {
    const place = this.element.querySelector('[data-kept]')
    const time = new Date().toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
    if (place) place.textContent = problem ? `Draft kept in this browser only: ${problem}` : `Draft kept, ${time}`
  }

  /** Returns the proposal that the user has chosen for the change. */
  into(title: string): Into | undefined {
    const { elements } = this.element
    return intoIn((name) => (elements.namedItem(name) as HTMLInputElement | HTMLSelectElement | null)?.value, title)
  }

  /** Shows the buttons that need a script. */
  open(): void {
    const tools = this.element.querySelector<HTMLElement>('[data-tools]')
    if (tools) tools.hidden = false
    const hint = this.element.querySelector('[data-hint]')
    if (hint) hint.textContent = 'Markdown. Type [[ to link a page, or / to insert a block.'
    this.preview.tabIndex = 0
  }

  /** Shows an error, or none with ''. It may contain a link. */
  say(problem: string | Node): void {
    const place = this.element.querySelector<HTMLElement>('[data-problem]')
    if (!place) return
    place.replaceChildren(problem)
    place.hidden = problem === ''
    place.scrollIntoView({ block: 'nearest' })
  }

  /** Shows the message that is saved if the summary is blank. */
  propose(): void {
    const verb = this.firstAct.startsWith('create') ? newMessage : editMessage
    this.message.placeholder = verb(this.title.value.trim())
  }

  /** Announces the state of the form to screen readers. */
  tell(news: string): void {
    const place = this.element.querySelector('[data-status]')
    if (place) place.textContent = news
  }

  sending(isSending: boolean): void {
    // `disabled` would lose the focus.
    for (const button of this.acts) button.ariaDisabled = isSending ? 'true' : null
    this.tell(isSending ? 'Sending…' : '')
    if (isSending) this.say('')
  }

  /** Lets the user choose files. `onFiles` gets them. */
  chooseFiles(): void {
    const chooser = document.createElement('input')
    Object.assign(chooser, { type: 'file', multiple: true })
    chooser.addEventListener('change', () => this.onFiles([...(chooser.files ?? [])]))
    chooser.click()
  }

  /** Offers an unsaved draft. */
  offer(at: string, hasMoved: boolean, acts: { take(): void; drop(): void }): void {
    const notice = document.createElement('p')
    notice.className = 'notice'
    const since = hasMoved ? ' The page has changed since then.' : ''
    const said = document.createElement('span')
    said.textContent = `You have an unsaved draft from ${timeOf(at)}.${since}`
    const button = (label: string, act: () => void) => {
      const made = document.createElement('button')
      Object.assign(made, { type: 'button', className: 'btn small', textContent: label })
      made.addEventListener('click', () => {
        notice.remove()
        act()
      })
      return made
    }
    notice.append(said, button('Restore', acts.take), button('Discard', acts.drop))
    this.element.prepend(notice)
  }

  /** Fetches this form with both sides after a conflict. @throws Error, TypeError if the request fails */
  async compared({ title, text, message }: Edit): Promise<Form> {
    const body = new URLSearchParams({ title, text, message, head: this.head.value, act: 'compare' })
    const answer = await fetch(this.element.action, { method: 'POST', body })
    const other = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const form = other.querySelector<HTMLFormElement>('form[data-editor]')
    if (answer.status !== 409 || !form?.querySelector('#ways'))
      throw new Error('This page has changed since you opened it')
    return new Form(form)
  }

  /** Takes over the fields of `other`, except the text, and its comparison. */
  takeOver(other: Form): void {
    this.title.value = other.title.value
    this.head.value = other.head.value
    Object.assign(this.element.dataset, { ...other.element.dataset })
    this.element.querySelector('#ways')?.remove()
    const ways = other.element.querySelector<HTMLElement>('#ways')
    const problem = this.element.querySelector('[data-problem]')
    if (!ways || !problem) return
    problem.before(document.adoptNode(ways))
    this.tell('This page has changed since you opened it. Nothing is saved yet.')
    ways.focus()
  }
}

/** Returns the day and the time as pages show them: `25 Nov, 20:43`. */
function timeOf(at: string): string {
  const time = new Date(at)
  const isThisYear = time.getFullYear() === new Date().getFullYear()
  const parts = { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' } as const
  return time.toLocaleString('en-GB', { ...parts, ...(isThisYear ? {} : { year: 'numeric' }) })
}
