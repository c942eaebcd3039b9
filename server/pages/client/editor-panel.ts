/** Tags and properties in the editor: more rows, tags that complete, and what has changed. Loaded after the editor. */

import { type Fields, fieldsOf, panelIn, panelKey } from '../properties.ts'

/** Tags that are offered at once. */
const mostOffered = 8
/** Tags that are read at once. If there are more, a tag that is begun is also searched. */
export const mostTags = 200
const names: ReadonlySet<string> = new Set(['tags', 'description', 'property-name', 'property-kind', 'property-value'])

interface PanelOptions {
  readonly form: HTMLFormElement
  onChange(): void
  /** Returns tags of the organisation with `part` in them, the most frequent first. */
  readTags(part: string): Promise<readonly string[]>
}

export class PanelForm {
  private readonly form: HTMLFormElement
  private readonly options: PanelOptions
  /** The key of the fields as the service sent them. */
  private start: string

  constructor(options: PanelOptions) {
    this.form = options.form
    this.options = options
    this.start = options.form.querySelector<HTMLInputElement>('[name=panel]')?.value ?? ''
  }

  open(): void {
    const panel = this.form.querySelector<HTMLDetailsElement>('[data-panel]')
    if (!panel) return
    panel.open = matchMedia('(min-width: 68.75rem)').matches
    panel.addEventListener('input', () => this.options.onChange())
    const add = panel.querySelector<HTMLElement>('[data-add-row]')
    add?.addEventListener('click', () => this.addRow()?.querySelector('input')?.focus())
    if (add) add.hidden = false
    this.completeTags()
  }

  get isChanged(): boolean {
    return this.key() !== this.start
  }

  /** Returns what the user has changed; undefined if nothing. @throws EntryError */
  fields(): Fields | undefined {
    const panel = panelIn(new FormData(this.form))
    return panel && this.isChanged ? fieldsOf(panel) : undefined
  }

  /** Returns the fields as a string, for a draft. */
  state(): string {
    const entries = [...new FormData(this.form)].filter(([name]) => names.has(name))
    return new URLSearchParams(entries.map(([name, value]): [string, string] => [name, String(value)])).toString()
  }

  /** Sets the fields to a state. */
  restore(state: string): void {
    const sent = new URLSearchParams(state)
    for (const name of ['tags', 'description']) {
      const input = this.form.querySelector<HTMLInputElement>(`[name=${name}]`)
      if (input) input.value = sent.get(name) ?? ''
    }
    const count = sent.getAll('property-name').length
    for (const row of this.rows().slice(Math.max(1, count))) row.remove()
    while (this.rows().length < count && this.addRow());
    for (const name of ['property-name', 'property-kind', 'property-value'])
      for (const [at, field] of [...this.form.querySelectorAll<HTMLInputElement>(`[name=${name}]`)].entries())
        field.value = sent.getAll(name)[at] ?? ''
    // A kind that is not in the list selects nothing.
    for (const select of this.form.querySelectorAll('select')) if (select.selectedIndex < 0) select.selectedIndex = 0
  }

  /** After a conflict, takes over the current fields if the user has not changed them. */
  takeOver(other: HTMLFormElement): void {
    if (this.isChanged || !other.querySelector('[data-panel]')) return
    this.restore(new PanelForm({ ...this.options, form: other }).state())
    this.start = this.key()
  }

  private key(): string {
    const panel = panelIn(new FormData(this.form))
    return panel ? panelKey(panel) : ''
  }

  private rows(): HTMLElement[] {
    return [...this.form.querySelectorAll<HTMLElement>('[data-rows] > li')]
  }

  private addRow(): HTMLElement | undefined {
    const last = this.rows().at(-1)
    const row = last?.cloneNode(true)
    if (!last || !(row instanceof HTMLElement)) return undefined
    for (const field of row.querySelectorAll<HTMLInputElement>('input, textarea')) field.value = ''
    last.after(row)
    return row
  }

  /** Offers tags that begin like the last one in the field, with or without `#`. */
  private completeTags(): void {
    const input = this.form.querySelector<HTMLInputElement>('[data-tags] input')
    if (!input) return
    const list = document.createElement('datalist')
    list.id = 'known-tags'
    input.after(list)
    input.setAttribute('list', list.id)
    let known: Promise<readonly string[]> | undefined
    const offer = async () => {
      known ??= this.options.readTags('').catch(() => [])
      const { value } = input
      const [, before = '', mark = '', begun = ''] = /^((?:.*,)?\s*)(#?)([^,]*)$/.exec(value) ?? []
      const chosen = new Set(before.split(',').map((tag) => tag.trim().replace(/^#/, '')))
      const isFitting = (tag: string) =>
        tag.toLowerCase().startsWith(begun.toLowerCase()) && !chosen.has(tag) && !/^#|[",]/.test(tag)
      const frequent = await known
      const fitting = frequent.filter(isFitting)
      if (frequent.length >= mostTags && fitting.length < mostOffered && begun !== '') {
        const found = await this.options.readTags(begun).catch(() => [])
        // The field may have changed since.
        if (input.value !== value) return
        fitting.push(...found.filter((tag) => isFitting(tag) && !fitting.includes(tag)))
      }
      const options = fitting.slice(0, mostOffered).map((tag) => new Option('', before + mark + tag))
      list.replaceChildren(...options)
    }
    input.addEventListener('input', offer)
    input.addEventListener('focus', offer)
  }
}
