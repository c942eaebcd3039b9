/**
 * Parses a client's request to upload-pack, line by line. Reads protocol v0 and v2 (serve.c, ls-refs.c, upload-pack.c),
 * but strictly: a line of an unknown form is refused. Git receives bytes that are written from the parsed request, so
 * it receives only what was checked.
 */

import { GitError } from '../errors.ts'
import { noOid, type Oid } from '../repo.ts'
import { delimiter, flush, type Pkt, pktLine } from './pkt-line.ts'

type ProtocolVersion = 0 | 2

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
  /** Lines without an argument in protocol v2, capabilities in v0. */
  readonly options: ReadonlySet<string>
  /** The requested answer. `done`: the pack. `flush`: the common commits. `none` (v0): only the shallow commits. */
  readonly end: 'done' | 'flush' | 'none'
}

/** `nothing` is a single flush. Git sends it to check its access before a large request. */
export type FetchRequest = LsRefs | Fetch | { readonly command: 'nothing' }

interface FetchReader {
  /** Returns true when the request is complete. @throws GitError malformed_request, not_offered */
  take(pkt: Pkt): boolean
  /** `ended` is true if the body ended before the request was complete. @throws GitError malformed_request */
  request(ended: boolean): FetchRequest
}

/**
 * The limit of prefixes in one request. Beyond it, all refs are listed. Prefixes are a hint, and Git compares each of
 * them with each ref.
 */
const maxPrefixes = 1_000

export function fetchReader(version: ProtocolVersion): FetchReader {
  return version === 2 ? readerOfV2() : readerOfV0()
}

/** Collects the lines that both versions of a fetch have in common. */
function collector() {
  const kept = {
    wants: new Set<Oid>(),
    haves: new Set<Oid>(),
    shallow: new Set<Oid>(),
    deepen: new Set<string>(),
    deepenNot: new Set<string>(),
    options: new Set<string>(),
    filter: undefined as string | undefined, // set by a filter line
  }
  return {
    kept,
    /** Takes a line that both versions have. Returns false for any other line. */
    take: (line: string): boolean => {
      const [word = '', argument = ''] = split(line)
      if (word === 'shallow') kept.shallow.add(oidOf(argument, line))
      else if (word === 'deepen') takeDeepen(/^[1-9]\d*$/.test(argument) && Number(argument) < 2 ** 31, line)
      else if (word === 'deepen-since') takeDeepen(/^\d{1,15}$/.test(argument), line)
      else if (word === 'deepen-not' && argument !== '') kept.deepenNot.add(argument)
      else if (word === 'filter') {
        if (kept.filter !== undefined) throw notOfGit(line)
        if (!isFilter(argument))
          throw new GitError(
            'not_offered',
            `filter ${shown(argument)} is not supported; blob:none, blob:limit, tree:0 are`,
          )
        kept.filter = argument
      } else return false
      return true
    },
    fetch: (version: ProtocolVersion, end: Fetch['end']): Fetch => {
      const depth = [...kept.deepen].some((line) => line.startsWith('deepen '))
      if (depth && (kept.deepen.size > 1 || kept.deepenNot.size > 0)) throw notOfGit('deepen with other depths')
      return { command: 'fetch', version, end, ...kept }
    },
  }
  function takeDeepen(isGood: boolean, line: string): void {
    const [word = ''] = split(line)
    if (!isGood || [...kept.deepen].some((other) => split(other)[0] === word && other !== line)) throw notOfGit(line)
    kept.deepen.add(line)
  }
}

/** True for a filter that is served. Git reads sizes of up to 64 bits, and dies at a larger one. */
function isFilter(text: string): boolean {
  if (/^(blob:none|tree:[01])$/i.test(text)) return true
  const [, digits, unit = ''] = /^blob:limit=(\d{1,15})([kmg]?)$/i.exec(text) ?? []
  return Number(digits) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit.toLowerCase()) <= Number.MAX_SAFE_INTEGER
}

const fetchOptions = ['thin-pack', 'no-progress', 'include-tag', 'ofs-delta', 'wait-for-done', 'deepen-relative']
const listOptions = ['peel', 'symrefs', 'unborn']

function readerOfV2(): FetchReader {
  const { kept, take, fetch } = collector()
  const prefixes = new Set<string>()
  let command: 'ls-refs' | 'fetch' | undefined
  let inArguments = false
  let isFirst = true
  let done = false
  const takeKey = (line: string) => {
    const [name, ...value] = line.split('=')
    if (name === 'command' && command === undefined && (line === 'command=ls-refs' || line === 'command=fetch'))
      command = line === 'command=fetch' ? 'fetch' : 'ls-refs'
    else if (name === 'object-format' ? value[0] !== 'sha1' : !/^(agent|server-option|session-id)$/.test(name ?? ''))
      throw notOfGit(line)
  }
  const takeArgument = (line: string) => {
    const [word = '', argument = ''] = split(line)
    if (command === 'ls-refs') {
      if (listOptions.includes(line)) kept.options.add(line)
      else if (word !== 'ref-prefix') throw notOfGit(line)
      else if (prefixes.size <= maxPrefixes) prefixes.add(argument)
    } else if (word === 'want') kept.wants.add(oidOf(argument, line))
    else if (word === 'have') kept.haves.add(oidOf(argument, line))
    else if (line === 'done') done = true
    else if (fetchOptions.includes(line)) kept.options.add(line)
    else if (!take(line)) throw notOfGit(line)
  }
  return {
    take: (pkt) => {
      if (pkt === 'flush') {
        if (command === undefined && !isFirst) throw notOfGit('a request without a command')
        return true
      }
      isFirst = false
      if (pkt === 'delimiter' && !inArguments && command !== undefined) inArguments = true
      else if (inArguments) takeArgument(lineOf(pkt))
      else takeKey(lineOf(pkt))
      return false
    },
    request: (ended) => {
      if (ended) throw cutOff()
      if (command === undefined) return { command: 'nothing' }
      if (command === 'fetch') return fetch(2, done ? 'done' : 'flush')
      if (prefixes.size > maxPrefixes) prefixes.clear()
      return { command, options: kept.options, prefixes }
    },
  }
}

/** Options of v0 in the line of the first want. Other words there are names, or have no effect. */
const v0Options = [
  ...['multi_ack', 'multi_ack_detailed', 'no-done', 'thin-pack', 'side-band', 'side-band-64k', 'ofs-delta'],
  ...['no-progress', 'include-tag', 'filter', 'deepen-relative'],
]

function readerOfV0(): FetchReader {
  const { kept, take, fetch } = collector()
  let asked = false
  let end: Fetch['end'] = 'none'
  const takeNeed = (line: string) => {
    const [, oid, options = ''] = /^want (\S+)(?: (.*))?$/.exec(line) ?? []
    if (oid === undefined) {
      if (!take(line)) throw notOfGit(line)
      return
    }
    kept.wants.add(oidOf(oid, line))
    for (const option of options.split(' ')) if (v0Options.includes(option)) kept.options.add(option)
  }
  return {
    take: (pkt) => {
      if (!asked) {
        if (pkt !== 'flush') takeNeed(lineOf(pkt))
        else if (kept.wants.size === 0) return true
        else asked = true
        return false
      }
      const line = pkt === 'flush' ? 'flush' : lineOf(pkt)
      const [word = '', argument = ''] = split(line)
      if (pkt === 'flush') end = 'flush'
      else if (line === 'done') end = 'done'
      else if (word === 'have') kept.haves.add(oidOf(argument, line))
      else throw notOfGit(line)
      return end !== 'none'
    },
    request: (ended) => {
      if (kept.wants.size === 0 && !ended) return { command: 'nothing' }
      if (!asked || (ended && kept.haves.size > 0)) throw cutOff()
      if (kept.filter !== undefined && !kept.options.has('filter')) throw notOfGit(`filter ${kept.filter}`)
      return fetch(0, end)
    },
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns one line of text, without the final line break. */
function lineOf(pkt: Pkt): string {
  if (typeof pkt === 'string') throw notOfGit(`a ${pkt} packet`)
  let line: string
  try {
    line = decoder.decode(pkt)
  } catch {
    throw notOfGit('a line that is not UTF-8')
  }
  const text = line.replace(/\n$/, '')
  if (text === '' || /[\0-\x1f\x7f]/.test(text)) throw notOfGit(text)
  return text
}

/** Splits at the first space. */
function split(line: string): [string, string] {
  const at = line.indexOf(' ')
  return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 1)]
}

/** Parses an id as Git's get_oid_hex does, in either case, but allows nothing after it. */
function oidOf(text: string, line: string): Oid {
  if (!/^[0-9a-f]{40}$/i.test(text)) throw notOfGit(line)
  return text.toLowerCase()
}

function notOfGit(what: string): GitError {
  return new GitError(
    'malformed_request',
    `This is not the protocol of git, or a part that is not offered: ${shown(what)}`,
  )
}

function cutOff(): GitError {
  return new GitError('malformed_request', 'The request is cut off')
}

/** Quotes a client's text for a message. */
function shown(text: string): string {
  return JSON.stringify(text.slice(0, 100))
}

/** Encodes the request as Git would write it. `deepenNot` must have full names of refs here. */
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
 * Removes the haves and shallow commits that the client may not see. In v2 a request with haves expects
 * acknowledgements. An unknown id therefore replaces those that were removed.
 */
export function limitToVisible(request: Fetch, visible: ReadonlySet<Oid>, deepenNot: ReadonlySet<string>): Fetch {
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
