/**
 * A client's request to upload-pack, and its bytes for git. The bytes are written anew from the parsed request, so that git
 * receives nothing that was not judged.
 */

import type { Oid } from '../repo.ts'
import { delimiter, flush, pktLine } from './pkt-line.ts'

export type ProtocolVersion = 0 | 2

export interface LsRefs {
  readonly command: 'ls-refs'
  readonly options: ReadonlySet<string>
  readonly prefixes: ReadonlySet<string>
}

export interface Fetch {
  readonly command: 'fetch'
  readonly version: ProtocolVersion
  readonly wants: ReadonlySet<Oid>
  readonly haves: ReadonlySet<Oid>
  readonly shallow: ReadonlySet<Oid>
  /** Lines `deepen …` and `deepen-since …`. */
  readonly deepen: ReadonlySet<string>
  /** Names of refs, as the client wrote them. */
  readonly deepenNot: ReadonlySet<string>
  readonly filter: string | undefined
  /** Lines of protocol v2 without an argument; capabilities of v0. */
  readonly options: ReadonlySet<string>
  /** `done`: send the pack; `flush`: answer what is common; `none` (v0): only what is shallow. */
  readonly end: 'done' | 'flush' | 'none'
}

/** `nothing`: a flush alone, with which git checks its access before it sends a large request. */
export type FetchRequest = LsRefs | Fetch | { readonly command: 'nothing' }

/** An id that no object has. */
const noOid = '0'.repeat(40)

/** The request as git would write it. `deepenNot` here are whole names of refs. */
export function bodyOf(request: LsRefs | Fetch): Buffer {
  if (request.command === 'ls-refs') {
    const lines = [...request.options, ...[...request.prefixes].map((prefix) => `ref-prefix ${prefix}`)]
    return frames([pktLine('command=ls-refs\n'), delimiter, ...lines.map(asFrame), flush])
  }
  const { wants, shallow, deepen, deepenNot, filter, options, end } = request
  const depths = [
    ...[...shallow].map((oid) => `shallow ${oid}`),
    ...deepen,
    ...[...deepenNot].map((ref) => `deepen-not ${ref}`),
    ...(filter === undefined ? [] : [`filter ${filter}`]),
  ]
  const haves = [...request.haves].map((oid) => `have ${oid}`)
  const asked = [...wants].map((oid) => `want ${oid}`)
  if (request.version === 2) {
    const lines = [...options, ...depths, ...asked, ...haves, ...(end === 'done' ? ['done'] : [])]
    return frames([pktLine('command=fetch\n'), delimiter, ...lines.map(asFrame), flush])
  }
  const [first, ...more] = asked
  const needs = [[first, ...options].join(' '), ...more, ...depths].map(asFrame)
  const ending = end === 'none' ? [] : [...haves.map(asFrame), end === 'done' ? asFrame('done') : flush]
  return frames([...needs, flush, ...ending])
}

/**
 * The request with only the haves and shallow commits that the client may see. In v2 a request with haves expects
 * acknowledgements, so an unknown id stands for those that were removed.
 */
export function withVisible(request: Fetch, visible: ReadonlySet<Oid>, deepenNot: ReadonlySet<string>): Fetch {
  const haves = new Set([...request.haves].filter((oid) => visible.has(oid)))
  if (request.version === 2 && haves.size < request.haves.size) haves.add(noOid)
  const shallow = new Set([...request.shallow].filter((oid) => visible.has(oid)))
  return { ...request, haves, shallow, deepenNot }
}

function frames(list: readonly Buffer[]): Buffer {
  return Buffer.concat(list)
}

function asFrame(line: string): Buffer {
  return pktLine(`${line}\n`)
}
