/** Reads a client's request to receive-pack, up to the pack: the list of refs. */

import { GitError } from '../errors.ts'
import { flush, type Pkt, pktLine } from './pkt-line.ts'

export interface PushHead {
  /** The list as Git reads it. */
  readonly bytes: Buffer
  /** Empty if Git only checks its access before it sends a large request. */
  readonly refs: readonly string[]
  /** True if the client understands a message in the middle of the answer. */
  readonly bands: boolean
  /** True if the client wants a report on each ref. */
  readonly reports: boolean
}

interface PushReader {
  /** Returns true when the list is complete. @throws GitError malformed_request */
  take(pkt: Pkt): boolean
  /** `ended` is true if the body ended before the list did. @throws GitError malformed_request */
  head(ended: boolean): PushHead
}

/** Bytes of a message in a frame, after the number of its band. */
const maxBandBytes = 65_515
/** Bytes of a ref's name in a report. Git reads no longer name. */
const maxReportedRefBytes = 4_096

/** Builds the report of a push whose refs are all refused. `refused` has the reason for each ref. */
export function refusalOf({ refs, bands, reports }: PushHead, refused: ReadonlyMap<string, string>): Buffer {
  if (!reports) return Buffer.alloc(0)
  const reported = refs.filter((ref) => Buffer.byteLength(ref) <= maxReportedRefBytes)
  const lines = reported.map((ref) => pktLine(`ng ${ref} ${refused.get(ref)}\n`))
  const report = Buffer.concat([pktLine('unpack ok\n'), ...lines, flush])
  if (!bands) return report
  const messages: Buffer[] = []
  for (let at = 0; at < report.length; at += maxBandBytes)
    messages.push(pktLine(Buffer.concat([Buffer.from([1]), report.subarray(at, at + maxBandBytes)])))
  return Buffer.concat([...messages, flush])
}

/** Creates a reader. Names of refs may be any bytes here; each is checked later. */
export function pushReader(): PushReader {
  const frames: Buffer[] = []
  const refs: string[] = []
  let bands = false
  let reports = false
  return {
    take: (pkt) => {
      if (pkt === 'flush') return true
      const line = typeof pkt === 'string' ? pkt : pkt.toString('latin1')
      if (typeof pkt === 'string' || !/^(shallow [0-9a-f]{40}\n?$|([0-9a-f]{40} ){2}[^\0])/i.test(line))
        throw new GitError('malformed_request', `This is not a line of a push: ${JSON.stringify(line.slice(0, 100))}`)
      const [command = '', capabilities] = pkt.toString('utf8').replace(/\n$/, '').split('\0')
      for (const capability of capabilities?.split(' ') ?? []) {
        if (capability === 'side-band-64k') bands = true
        if (/^report-status(-v2)?$/.test(capability)) reports = true
      }
      if (!line.startsWith('shallow ')) refs.push(command.slice(82))
      frames.push(pktLine(pkt))
      return false
    },
    head: (ended) => {
      if (ended) throw new GitError('malformed_request', 'The push is cut off')
      return { bytes: Buffer.concat([...frames, flush]), refs, bands, reports }
    },
  }
}
