/** The thread of the local model. Loads it with the first text, from files only, and embeds one text at a time. */
import { createRequire } from 'node:module'
import { workerData } from 'node:worker_threads'
import pLimit from 'p-limit'
import { serveCalls } from '../worker-client.ts'
import type { EmbedCalls } from './local-model.ts'
import type { LocalPackages } from './local-packages.ts'
import { quantised } from './quantise.ts'

interface Encoder {
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>
}

/** A source reads weights and vocabulary. The default of `initModel` would be a server, so it is always passed. */
interface Modules {
  readonly core: { ready(): Promise<void> }
  readonly embeddings: { initModel(source: unknown): Promise<Encoder> }
  readonly weights: { readonly modelSource: unknown }
}

/**
 * The most UTF-16 units after the normalisation that the model begins with. It makes 18 units of one Arabic ligature,
 * so that a text of 2,400 would take 15 s.
 */
const mostUnits = 4_800

const packages = workerData as LocalPackages // local-model.ts passes it
const load = createRequire(packages.embeddings)
/** Vectors of texts that are embedded together differ in their last bits. */
const inTurn = pLimit(1)
let loading: Promise<Encoder> | undefined

globalThis.fetch = () => Promise.reject(new Error('The local model reads files only'))
serveCalls<EmbedCalls>({ embed: (text) => inTurn(() => embed(text)) })

async function embed(text: string): Promise<Int8Array | undefined> {
  if (text.trim() === '') return undefined
  loading ??= loadEncoder()
  const encoder = await loading.catch((error) => {
    loading = undefined
    throw error
  })
  try {
    const [values] = await encoder.embed([text.normalize('NFKC').slice(0, mostUnits)])
    return values && vectorOf(values)
  } catch (error) {
    // The state of its memory is unknown. The client starts another thread, and gives up on a text that ends both.
    queueMicrotask(() => {
      throw error
    })
    return new Promise(() => undefined)
  }
}

/** Returns undefined if all values are zero, or one is not finite. */
function vectorOf(values: readonly number[]): Int8Array | undefined {
  try {
    return quantised(values)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

async function loadEncoder(): Promise<Encoder> {
  const [core, embeddings, weights] = [packages.core, packages.embeddings, packages.weights].map((path) =>
    load(path),
  ) as [Modules['core'], Modules['embeddings'], Modules['weights']]
  // The source makes tensors, and `initModel` asks for it before the backend is ready.
  await core.ready()
  return await embeddings.initModel(weights.modelSource)
}
