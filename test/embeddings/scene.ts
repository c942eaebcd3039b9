/** A model behind the endpoint of a test, with a clock that the test sets, its log and its metrics. */

import { pino } from 'pino'
import { readConfig } from '../../server/base/config.ts'
import { EndpointModel, type EndpointModelOptions } from '../../server/domain/embeddings/endpoint-model.ts'
import { EmbeddingError } from '../../server/domain/embeddings/model.ts'
import { quantised } from '../../server/domain/embeddings/quantise.ts'
import { newMetrics } from '../../server/metrics/metrics.ts'
import { lettersVector } from '../support/embeddings-endpoint.ts'

export const key = 'sk-very-secret-0123456789'

/** The time at which a test begins. */
export const noon = Date.UTC(2030, 0, 2, 12)

export interface Scene {
  readonly model: EndpointModel
  /** Lines of the log, parsed. */
  lines(): Record<string, unknown>[]
  /** The log as it was written. */
  text(): string
  /** The values of a metric by its only label. Without a label: ''. */
  metric(name: string): Promise<Record<string, number>>
  /** Moves the clock. */
  pass(ms: number): void
  at(ms: number): void
}

/** @param variables in addition to the URL, the model `letters` and a key */
export function sceneOf(
  url: string,
  variables: Readonly<Record<string, string>> = {},
  options: EndpointModelOptions = {},
): Scene {
  const usual = { EMBEDDINGS: 'endpoint', EMBEDDINGS_URL: url, EMBEDDINGS_MODEL: 'letters', EMBEDDINGS_KEY: key }
  const config = readConfig({ ...usual, ...variables })
  const written: string[] = []
  let nowMs = noon
  const metrics = newMetrics()
  const deps = {
    config,
    listening: { port: 1 },
    now: () => new Date(nowMs),
    log: pino({ level: 'trace' }, { write: (line: string) => written.push(line) }),
    metrics,
  }
  const settings = config.embeddings?.endpoint
  if (settings === undefined) throw new Error('The configuration has no endpoint')
  return {
    model: new EndpointModel(settings, deps, { random: () => 0.5, ...options }),
    lines: () => written.map((line) => JSON.parse(line)),
    text: () => written.join(''),
    metric: async (name) => {
      const found = await metrics.registry.getSingleMetric(`grove_${name}`)?.get()
      const values = found?.values ?? []
      return Object.fromEntries(values.map(({ labels, value }) => [String(labels.result ?? labels.state ?? ''), value]))
    },
    pass: (ms) => {
      nowMs += ms
    },
    at: (ms) => {
      nowMs = ms
    },
  }
}

export const vectorsOf = (texts: readonly string[]) => texts.map((text) => quantised(lettersVector(text)))

export const embed = (scene: Scene, texts: readonly string[], signal = new AbortController().signal) =>
  scene.model.embedTexts(texts, signal)

/** The error of a call that must fail. */
export async function failed(call: Promise<unknown>): Promise<EmbeddingError> {
  try {
    await call
  } catch (error) {
    if (error instanceof EmbeddingError) return error
    throw error
  }
  throw new Error('The call should fail')
}

/** Texts that differ. */
export const someTexts = (count: number, word = 'text') => Array.from({ length: count }, (_, at) => `${word} ${at}`)
