/** Comments in the browser's storage that are not submitted yet. */

/** The fields of a form, by name. */
export type Fields = Readonly<Record<string, string>>

export interface Draft {
  readonly text: string
  readonly fields: Fields
}

/** A comment of a review. */
export type Collected = Draft

export class TalkStore {
  private readonly prefix: string

  /** @param discussion identifies the user and the proposal */
  constructor(discussion: string) {
    this.prefix = `talk ${discussion} `
  }

  draft(key: string): Draft | undefined {
    return draftIn(this.read(`draft ${key}`))
  }

  /** Keeps a draft; one that says nothing is removed. */
  keepDraft(key: string, draft: Draft): void {
    if (isBlank(draft)) this.removeDraft(key)
    else this.write(`draft ${key}`, draft)
  }

  removeDraft(key: string): void {
    this.tried((storage) => storage.removeItem(`${this.prefix}draft ${key}`))
  }

  drafts(): { readonly key: string; readonly draft: Draft }[] {
    const start = `${this.prefix}draft `
    const names = this.tried((storage) => Object.keys(storage).filter((name) => name.startsWith(start))) ?? []
    return names.flatMap((name) => {
      const key = name.slice(start.length)
      const draft = this.draft(key)
      return draft ? [{ key, draft }] : []
    })
  }

  collected(): readonly Collected[] {
    const list = this.read('collected')
    return Array.isArray(list) ? list.flatMap((one) => draftIn(one) ?? []) : []
  }

  collect(comments: readonly Collected[]): void {
    if (comments.length === 0) this.tried((storage) => storage.removeItem(`${this.prefix}collected`))
    else this.write('collected', comments)
  }

  private read(name: string): unknown {
    return this.tried((storage) => JSON.parse(storage.getItem(this.prefix + name) ?? 'null'))
  }

  private write(name: string, value: unknown): void {
    this.tried((storage) => storage.setItem(this.prefix + name, JSON.stringify(value)))
  }

  /** Runs `act`; undefined if the storage is disabled or full. */
  private tried<T>(act: (storage: Storage) => T): T | undefined {
    try {
      return act(localStorage)
    } catch {
      return undefined
    }
  }
}

/** True without a text, if the suggestion is the same as the current text. */
export function isBlank({ text, fields: { suggestion, original } }: Draft): boolean {
  return text.trim() === '' && suggestion === original
}

/** Checks what the storage had. */
function draftIn(value: unknown): Draft | undefined {
  if (typeof value !== 'object' || value === null || !('text' in value) || !('fields' in value)) return undefined
  const { text, fields } = value
  if (typeof text !== 'string' || typeof fields !== 'object' || fields === null) return undefined
  return { text, fields: Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, String(one)])) }
}
