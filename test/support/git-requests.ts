/** Sends requests to Git's services frame by frame. Git itself would never send some of them. */

import { pktLine } from '../../gitstore/transfer/pkt-line.ts'

export interface GitRequest {
  readonly service?: 'git-upload-pack' | 'git-receive-pack'
  readonly version?: 0 | 1 | 2
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface GitAnswer {
  readonly status: number
  readonly body: Buffer
}

/** Sends a request. Strings become frames, and bytes are sent unchanged. */
export async function askGit(
  grove: { readonly url: string },
  node: { readonly org: string; readonly id: string },
  frames: readonly (string | Buffer)[],
  { service = 'git-upload-pack', version = 2, token, headers = {} }: GitRequest = {},
): Promise<GitAnswer> {
  const response = await fetch(`${grove.url}/git/${node.org}/${node.id}.git/${service}`, {
    method: 'POST',
    body: Buffer.concat(frames.map((frame) => (typeof frame === 'string' ? pktLine(frame) : frame))),
    headers: {
      'content-type': `application/x-${service}-request`,
      ...(version === 0 ? {} : { 'git-protocol': `version=${version}` }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
  })
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
}
