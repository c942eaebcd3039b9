/** Encodes raw slashes in path parameters before paths are matched. */

import type { RequestHandler } from 'express'

export const pathParameters: RequestHandler = (req, _res, next) => {
  const query = req.url.indexOf('?')
  const path = query < 0 ? req.url : req.url.slice(0, query)
  req.url = encodeSlashes(path, req.method) + (query < 0 ? '' : req.url.slice(query))
  next()
}

/**
 * Encodes slashes: `/orgs/o/nodes/n/tree/feature/x/commits` → `…/tree/feature%2Fx/commits`. The last `/commits` or
 * `/commits/{id}` counts, otherwise the first `/files/`, `/raw/` or `/blame/`. In a POST to a branch, a `/restore` at the
 * end counts. With other methods it belongs to the branch. All after the commit of a check is the check's name. A path
 * that already matches the spec is not changed.
 */
export function encodeSlashes(path: string, method: string): string {
  const check = /^(\/orgs\/[^/]+\/nodes\/[^/]+\/checks\/[^/]+\/)(.+)$/.exec(path)
  if (check !== null) return `${check[1]}${check[2]?.replaceAll('/', '%2F')}`
  const found = /^(\/orgs\/[^/]+\/nodes\/[^/]+\/)(tree|branches)\/(.+?)(\/?)$/.exec(path)
  if (found === null) return path
  const [, before = '', kind = '', rest = '', end = ''] = found
  const segments = rest.split('/')
  const pieces = kind === 'branches' ? branchPieces(segments, method) : treePieces(segments)
  const [, reader, file] = pieces
  // A final slash belongs to a file's path. No file has one, so such a path is not found.
  if (end !== '' && file && readers.includes(reader?.[0] ?? '')) return `${encodePieces(before, kind, pieces)}%2F`
  return encodePieces(before, kind, pieces)
}

function encodePieces(before: string, kind: string, pieces: readonly (readonly string[])[]): string {
  return `${before}${kind}/${pieces.map((piece) => piece.join('%2F')).join('/')}`
}

/** The segments between a revision and the path of a file. */
const readers: readonly string[] = ['files', 'raw', 'blame']

function branchPieces(segments: readonly string[], method: string): readonly (readonly string[])[] {
  const last = segments.length - 1
  return method === 'POST' && last >= 1 && segments[last] === 'restore' ? split(segments, last) : [segments]
}

function treePieces(segments: readonly string[]): readonly (readonly string[])[] {
  const last = segments.length - 1
  if (last === 2 && readers.includes(segments[1] ?? '')) return segments.map((segment) => [segment])
  const commits = segments.lastIndexOf('commits')
  if (commits >= 1 && commits >= last - 1) return split(segments, commits)
  const reader = segments.findIndex((segment, at) => at >= 1 && readers.includes(segment))
  return reader >= 1 && reader < last ? split(segments, reader) : [segments]
}

function split(segments: readonly string[], at: number): readonly (readonly string[])[] {
  const after = segments.slice(at + 1)
  return [segments.slice(0, at), segments.slice(at, at + 1), ...(after.length === 0 ? [] : [after])]
}
