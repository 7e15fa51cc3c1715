// Asks Procession about a new statement, with its session headers, and sends it where the verdict says.
async function route(r) {
    if (r.method !== 'POST' && r.method !== 'PUT') {
        r.internalRedirect('@procession');
        return;
    }
    const answer = await r.subrequest('/_precheck', {method: 'POST', body: r.requestText || ''});
    if (answer.headersOut['X-Procession-Verdict'] !== 'refused') {
        // Accepted; or nobody could say, and the coordinator answers for itself.
        r.internalRedirect('@procession');
        return;
    }
    if (r.variables.fallback) {
        r.return(307, r.variables.fallback + r.variables.request_uri);
        return;
    }
    r.headersOut['Content-Type'] = 'text/plain';
    r.return(403, 'Refused: ' + answer.headersOut['X-Procession-Error'] + '\n');
}

export default {route};
