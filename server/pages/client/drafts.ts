/** Unsaved drafts in the browser's storage, by user, node and branch. `head`: the commit they began at. */

import type { KnownDraft } from './stored-draft.ts'

interface Draft {
  readonly head: string | null
  readonly title: string
  readonly text: string
  readonly message: string
  /** Tags and properties as a query; '' if they are unchanged. */
  readonly panel: string
  /** Its copy on the server. Absent: an older version of this page has stored it. */
  readonly stored?: KnownDraft | undefined
  /** ISO 8601. */
  readonly at: string
}

const prefix = 'draft '

export class Drafts {
  private readonly key: string | undefined

  /** Without a key, nothing is stored. */
  constructor(key: string | undefined) {
    this.key = key === undefined ? undefined : prefix + key
  }

  keep({ head, title, text, message, panel, stored }: Omit<Draft, 'at'>): void {
    const draft: Draft = { head, title, text, message, panel, stored, at: new Date().toISOString() }
    this.tried((storage, key) => storage.setItem(key, JSON.stringify(draft)))
  }

  remove(): void {
    this.tried((storage, key) => storage.removeItem(key))
  }

  read(): Draft | undefined {
    return this.tried((storage, key) => {
      const { head = null, title, text, message, panel = '', stored, at } = JSON.parse(storage.getItem(key) ?? '{}')
      const isWhole = [title, text, message, panel, at].every((one) => typeof one === 'string')
      return isWhole ? { head, title, text, message, panel, stored, at } : undefined
    })
  }

  /** Runs `act`; undefined if the storage is disabled or full. */
  private tried<T>(act: (storage: Storage, key: string) => T): T | undefined {
    if (this.key === undefined) return undefined
    try {
      return act(localStorage, this.key)
    } catch {
      return undefined
    }
  }
}
