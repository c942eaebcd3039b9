/** Calls of MCP over HTTP, without a client library. */

export interface McpAnswer {
  readonly status: number
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] }
  readonly error?: { readonly message: string }
}

/** Sends one request. `input` has the arguments of a tool, or else the parameters. */
export async function callMcp(
  { url }: { readonly url: string },
  token: string | undefined,
  method: string,
  name: string | undefined,
  input: object,
): Promise<McpAnswer> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const given = method === 'tools/call' ? { arguments: input } : input
  const { uri } = given as { readonly uri?: string } // resources have one
  const answer = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name ?? uri ?? '',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...(name ? { name } : {}), ...given, _meta } }),
  })
  return { status: answer.status, ...((await answer.json()) as object) }
}
