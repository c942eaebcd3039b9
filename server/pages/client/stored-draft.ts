/** The draft on the server. It has each change within seconds, and outlives the browser. */

import { Conflict, GroveError, grove, type Schemas } from '../../../spec/client/client.ts'

export type DraftContent = Omit<Schemas['DraftChange'], 'expected_version'>

/** Milliseconds from a change to its copy, and between two attempts of a failed one. */
const pauses = { change: 3_000, retry: 5_000 } as const
/** Bytes of a request that a closing page may leave behind. Source: `keepalive` of the Fetch standard, 64 KiB. */
const mostLeft = 60_000
/** Refusals that another attempt may not meet. */
const passing: ReadonlySet<number> = new Set([0, 401, 429, 500, 502, 503, 504])

/** A draft and its version. The version is null until it is stored. */
export interface KnownDraft {
  readonly id: string
  readonly version: string | null
}

interface StoredDraftOptions {
  readonly root: string
  readonly org: string
  /** Called after each copy, or with the reason why there is none. */
  onCopied(problem?: string): void
}

export class StoredDraft {
  known: KnownDraft = { id: crypto.randomUUID(), version: null }
  private readonly options: StoredDraftOptions
  private readonly api: ReturnType<typeof grove>
  private content: DraftContent | undefined
  /** The last content that was copied, as JSON. */
  private copied = ''
  private timer: ReturnType<typeof setTimeout> | undefined
  private sending: Promise<void> = Promise.resolve()

  constructor(options: StoredDraftOptions) {
    this.options = options
    const leave: typeof fetch = (input, init) =>
      fetch(input, { ...init, keepalive: new Blob([String(init?.body ?? '')]).size < mostLeft })
    this.api = grove({ url: options.root, fetch: leave })
  }

  /** Copies the content soon, unless it is the last that was copied. */
  keep(content: DraftContent): void {
    this.content = JSON.stringify(content) === this.copied ? undefined : content
    if (this.content === undefined) return
    this.timer ??= setTimeout(() => this.copyNow(), pauses.change)
  }

  /** Copies what is not copied yet. */
  copyNow(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.sending = this.sending.then(() => this.copy())
  }

  /** Removes the copy, if there is one. Waits for a copy that is on its way. */
  async remove(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    this.content = undefined
    this.copied = ''
    await this.sending
    const { id, version } = this.known
    if (version === null) return
    this.known = { id: crypto.randomUUID(), version: null }
    await this.discard(id)
  }

  /** Finds a draft of the user. */
  async find(draft_id: string): Promise<KnownDraft | undefined> {
    const path = { org_id: this.options.org, draft_id }
    return this.api.getDraft({ path }).catch(() => undefined)
  }

  /** Lists the user's drafts of a page, the last saved first. None if they cannot be read. */
  async list(node_id: string): Promise<readonly Schemas['DraftFields'][]> {
    const path = { org_id: this.options.org }
    return (await this.api.listOrgDrafts({ path, query: { node_id } }).catch(() => ({ drafts: [] }))).drafts
  }

  async discard(draft_id: string): Promise<void> {
    await this.api.deleteDraft({ path: { org_id: this.options.org, draft_id } }).catch(() => {})
  }

  private async copy(): Promise<void> {
    const { content, known } = this
    if (content === undefined) return
    this.content = undefined
    try {
      const path = { org_id: this.options.org, draft_id: known.id }
      const { version } = await this.api.putDraft({ path, body: { ...content, expected_version: known.version } })
      this.known = { ...known, version }
      this.copied = JSON.stringify(content)
      this.options.onCopied()
    } catch (error) {
      this.failed(error, this.content ?? content)
    }
  }

  /** Tries again if that may help. A draft that another window has changed stays, and this one becomes another. */
  private failed(error: unknown, content: DraftContent): void {
    const isMoved = error instanceof Conflict && error.code === 'version_moved'
    if (isMoved) this.known = { id: crypto.randomUUID(), version: null }
    else this.options.onCopied(reasonOf(error))
    if (!isMoved && !(error instanceof GroveError && passing.has(error.status))) return
    this.content = content
    this.timer ??= setTimeout(() => this.copyNow(), isMoved ? 0 : pauses.retry)
  }
}

/** Says why a draft is not on the server. */
function reasonOf(error: unknown): string {
  if (!(error instanceof GroveError) || error.status === 0) return 'the service does not respond.'
  if (error.status === 401) return 'your session has ended. Sign in from another tab.'
  if (error.status === 422) return 'it is too long.'
  return error.message
}
