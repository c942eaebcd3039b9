/** What a person has written and not saved, kept in their browser: by person and node, with the commit at which it began. */

interface Draft {
  readonly head: string | null
  readonly title: string
  readonly text: string
  readonly message: string
  /** ISO 8601. */
  readonly at: string
}

const prefix = 'draft '

export class Drafts {
  private readonly key: string | undefined

  /** Nothing is kept without a key. */
  constructor(key: string | undefined) {
    this.key = key === undefined ? undefined : prefix + key
  }

  keep({ head, title, text, message }: Omit<Draft, 'at'>): void {
    const draft: Draft = { head, title, text, message, at: new Date().toISOString() }
    this.tried((storage, key) => storage.setItem(key, JSON.stringify(draft)))
  }

  remove(): void {
    this.tried((storage, key) => storage.removeItem(key))
  }

  read(): Draft | undefined {
    return this.tried((storage, key) => {
      const { head = null, title, text, message, at } = JSON.parse(storage.getItem(key) ?? '{}')
      const isWhole = [title, text, message, at].every((one) => typeof one === 'string')
      return isWhole ? { head, title, text, message, at } : undefined
    })
  }

  /** Undefined where the browser keeps nothing, or has no more room. */
  private tried<T>(act: (storage: Storage, key: string) => T): T | undefined {
    if (this.key === undefined) return undefined
    try {
      return act(localStorage, this.key)
    } catch {
      return undefined
    }
  }
}
