/** Opens the model that the operator has configured. */

import type { ClientDeps } from './endpoint-client.ts'
import { EndpointModel, type EndpointModelOptions } from './endpoint-model.ts'
import type { EmbeddingModel } from './model.ts'

/** Opens the model that runs in this process. */
export type OpenLocal = (deps: Pick<ClientDeps, 'now' | 'log' | 'metrics'>) => Promise<EmbeddingModel>

/** Returns undefined if searches go by words only. Errors of `openLocal` end the start. */
export async function openModel(
  deps: ClientDeps,
  openLocal: OpenLocal,
  options?: EndpointModelOptions,
): Promise<EmbeddingModel | undefined> {
  const { embeddings } = deps.config
  if (embeddings === undefined) return undefined
  return embeddings.endpoint === undefined ? openLocal(deps) : new EndpointModel(embeddings.endpoint, deps, options)
}
