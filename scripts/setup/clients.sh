# The packages of the clients, which the server gives to everyone at /downloads.

clients_ready() { "$modules/.bin/node" "$repo/scripts/build-clients.ts" --check; }

clients_title() { echo 'Clients: building the command line, the SDK and the MCP server'; }

clients_make() {
  attempt 'building the clients' last_line "$modules/.bin/node" "$repo/scripts/build-clients.ts" ||
    explain 'clients' 'Run `npm ci`, then this again.'
}
