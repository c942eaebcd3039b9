/** `grove embed`: embeds the texts that wait, or says how many there are. */
import { plural } from '../../base/plural.ts'
import { embedNow } from '../../domain/embeddings/embed-now.ts'
import { EmbeddingError } from '../../domain/embeddings/model.ts'
import { countPendingTexts, listEmbeddedOrgs, type PendingTexts } from '../../domain/embeddings/pending-texts.ts'
import { printable } from '../../domain/format/text-rules.ts'
import { type Call, printLine, progressFor, requireFolder, requireOrgId, UsageError, withDeps } from './command.ts'

export interface EmbedOptions {
  readonly org?: string
  readonly dryRun?: boolean
  readonly json?: boolean
}

/** An estimate for languages of Latin script. */
const charactersOfToken = 4
/** Texts after which the pace is known. */
const textsOfPace = 96

/**
 * Embeds what is missing. Returns 1 if the organisation does not allow it, another process embeds, or the model will not
 * embed soon.
 */
export async function embed(call: Call, options: EmbedOptions): Promise<number> {
  const only = options.org === undefined ? undefined : requireOrgId(options.org)
  await requireFolder(call.config.dataDir)
  const work: Parameters<typeof withDeps<number>>[1] = async (deps, index) => {
    const { embeddings } = deps
    if (embeddings === undefined)
      throw new UsageError('Search by meaning is off, so nothing can be embedded. Set EMBEDDINGS to local or endpoint')
    if (!index.isWhole())
      throw new UsageError(
        'The index is incomplete, so not all texts are known. Run grove reindex, or start the service, and try again',
      )
    const step = { index: deps.index, now: deps.now, store: deps.store, embeddings, signal: call.signal }
    const orgs = await listEmbeddedOrgs(step, only)
    if (only !== undefined && orgs.length === 0)
      return failed(
        `${only} does not exist, or does not allow ${embeddings.model.name}. Its owners choose in its settings`,
      )
    const pending: (PendingTexts & { readonly id: string })[] = []
    for (const org of orgs) pending.push({ id: org.id, ...(await countPendingTexts(step, org)) })
    if (options.json !== true) printPending(pending)
    const total = pending.reduce((sum, { texts }) => sum + texts, 0)
    const pace = new Pace(total)
    if (options.dryRun !== true) {
      const isOurs = await embedNow(step, orgs, pace).finally(() => pace.end())
      if (!isOurs) return failed(isBusy)
    }
    if (options.json === true) {
      const organisations = pending.map((one) => ({ ...one, tokens: tokensOf(one) }))
      printLine(JSON.stringify({ model: embeddings.model.name, organisations, embedded: pace.done }))
    } else if (options.dryRun !== true) printLine(`${plural(pace.done, 'text')} embedded`)
    return 0
  }
  return withDeps(call, work, { embeds: true }).catch((error: unknown) => {
    if (!(error instanceof EmbeddingError)) throw error
    return failed(`${error.message} ${howToContinue}`)
  })
}

const isBusy = 'Another process, such as a running service, embeds already. Wait for it, or stop it and try again'
const howToContinue =
  'The texts that were embedded are kept. Run grove embed again to embed the rest, or with --dry-run to count it'

function printPending(pending: readonly (PendingTexts & { readonly id: string })[]): void {
  if (pending.length === 0) printLine('No organisation allows it. Owners choose in the settings of their organisation')
  for (const one of pending) {
    const waiting = `${plural(one.nodes, 'node')}, ${plural(one.texts, 'text')}, ${plural(one.characters, 'character')}`
    printLine(`${one.id}: ${waiting}, about ${plural(tokensOf(one), 'token')}`)
  }
}

function tokensOf({ characters }: PendingTexts): number {
  return Math.ceil(characters / charactersOfToken)
}

function failed(message: string): number {
  process.stderr.write(`grove: ${printable(message)}\n`)
  return 1
}

/** Shows the progress, and once the time that is left. */
class Pace {
  done = 0
  readonly #total: number
  readonly #progress = progressFor('Embedding')
  readonly #since = performance.now()
  #isSaid = false

  constructor(total: number) {
    this.#total = total
  }

  embedded(texts: number): void {
    this.done += texts
    // Texts that were written since the count are also embedded.
    this.#progress.at(this.done, Math.max(this.#total, this.done))
    if (this.#isSaid || this.done < textsOfPace || this.done >= this.#total) return
    this.#isSaid = true
    const hours = (((performance.now() - this.#since) / this.done) * (this.#total - this.done)) / 3_600_000
    this.#note(`At this pace, the rest takes ${hours < 0.1 ? 'less than 0.1' : hours.toFixed(1)} hours`)
  }

  paused({ message, retryAfterMs }: { readonly message: string; readonly retryAfterMs: number }): void {
    this.#note(`${message} Trying again in ${plural(Math.ceil(retryAfterMs / 1000), 'second')}`)
  }

  end(): void {
    this.#progress.end()
  }

  #note(text: string): void {
    this.#progress.end()
    process.stderr.write(`${printable(text)}\n`)
  }
}
