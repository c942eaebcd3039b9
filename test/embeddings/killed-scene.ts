/** A data folder with texts, services over it that embed them by an endpoint, and the rows that they leave. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openSqlite } from '../../index/sqlite/better-sqlite3.ts'
import { modelId } from '../../server/domain/embeddings/model-id.ts'
import { keyOf } from '../../server/domain/embeddings/texts.ts'
import { vectorsFile } from '../../server/domain/layout.ts'
import { newDataDir } from '../support/data-folder.ts'
import type { EmbeddingsEndpoint } from '../support/embeddings-endpoint.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type Client, client, type PersonClient, signUp } from '../support/people.ts'
import { type SpawnedGrove, spawnGrove } from '../support/spawned-grove.ts'
import { until } from '../support/until.ts'

/** One address for all services of a folder, so that a session is valid in each. */
const publicUrl = 'https://grove.example'
/** It distinguishes questions from texts. */
const queryPrefix = 'Question: '
const model = 'letters'
const id = modelId({ name: model, textPrefix: '', queryPrefix })

/** Nodes of three texts each. A step of the embedder has some 11 of them, and two requests: 32 texts, and the rest. */
const nodes = 60

export interface Filled {
  readonly dataDir: string
  readonly ann: PersonClient
}

/** Makes a data folder with nodes, which no model has seen. */
export async function fill(): Promise<Filled> {
  const dataDir = await newDataDir()
  const grove = await startGrove({ dataDir, publicUrl })
  const ann = await signUp(grove, 'Ann')
  const pages = Array.from({ length: nodes }, (_, n) => ({ title: `Whale ${n}`, text_content: textOf(`krill ${n}`) }))
  await ann.post(`/orgs/${ann.org}/nodes/batch`, { nodes: pages }).then(expecting(201))
  await grove.close()
  return { dataDir, ann }
}

/** A text of three passages. */
function textOf(word: string): string {
  const parts = ['Song', 'Food', 'Travel'].map((heading) => `# ${heading}\n\n${`${word} and ${heading} `.repeat(12)}`)
  return parts.join('\n\n')
}

/** Starts a service. @param key tells the endpoint which one asks */
export function serve({ dataDir }: Filled, { url }: EmbeddingsEndpoint, key = 'one'): Promise<SpawnedGrove> {
  return spawnGrove(dataDir, {
    PUBLIC_URL: publicUrl,
    TRUST_PROXY: 'loopback',
    EMBEDDINGS: 'endpoint',
    EMBEDDINGS_URL: url,
    EMBEDDINGS_MODEL: model,
    EMBEDDINGS_QUERY_PREFIX: queryPrefix,
    EMBEDDINGS_KEY: key,
  })
}

/** Ann at another service. */
export function at(grove: SpawnedGrove, { ann }: Filled): Client {
  return client(grove, ann.session.accessToken)
}

export async function search(grove: SpawnedGrove, filled: Filled, query: string) {
  const body = { query, expansion_depth: 'none', limit: 5 }
  return (await at(grove, filled).post(`/orgs/${filled.ann.org}/search/retrieve`, body).then(expecting(200))).body
}

/** Waits until all nodes have vectors. The words suffice for this search, so that no question is embedded. */
export function untilCovered(grove: SpawnedGrove, filled: Filled): Promise<void> {
  return until(async () => (await search(grove, filled, 'krill')).meaning.covered === 1)
}

type Request = EmbeddingsEndpoint['requests'][number]

export function isQuestion({ body }: Request): boolean {
  return body.input.some((text) => text.startsWith(queryPrefix))
}

/** The requests for texts, without those for questions. */
export function textRequests({ requests }: EmbeddingsEndpoint): Request[] {
  return requests.filter((request) => !isQuestion(request))
}

export function textsIn(requests: readonly Request[]): string[] {
  return requests.flatMap(({ body }) => body.input)
}

/** The key in hex under which the vector of a text is stored. */
export function storedKeyOf(text: string): string {
  return keyOf(id, text).toString('hex')
}

/** The content of `vectors.sqlite`, without the numbers and the order of rows. */
export interface Rows {
  readonly passages: readonly { readonly key: string }[]
  readonly nodes: readonly object[]
  readonly settled: unknown
}

const passages = `
  select org_id, model.id as model, lower(hex(key)) as key, hex(vector) as vector
  from passage join model on number = model order by org_id, model.id, passage.key`
const nodeRows = `
  select org_id, model.id as model, node_id, head, gone, hex(keys) as keys, hex(vector) as vector, characters
  from node join model on number = model order by org_id, model.id, node_id`
const settled = 'select org_id, model.id as model, settled from position join model on number = model order by 1, 2'

/** Reads the rows of a data folder. Services may use it, or may have been killed. */
export function rowsIn({ dataDir }: Filled): Rows {
  const db = openSqlite(join(dataDir, vectorsFile), { readonly: true, fileMustExist: true })
  try {
    return {
      passages: db.prepare<[], { key: string }>(passages).all(),
      nodes: db.prepare<[], object>(nodeRows).all(),
      settled: db.prepare(settled).all(),
    }
  } finally {
    db.close()
  }
}

/** No service may use the folder. */
export async function loseVectors({ dataDir }: Filled): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(join(dataDir, `${vectorsFile}${end}`), { force: true })
}

/** Returns the texts that an earlier one equals. */
export function repeated(texts: readonly string[]): string[] {
  const seen = new Set<string>()
  return texts.filter((text) => seen.size === seen.add(text).size)
}
